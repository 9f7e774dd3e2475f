"""Statistics of samples and series, whatever they measure."""
