"""Several engines that share one load, on this host and others: their agents, clocks and frames."""
