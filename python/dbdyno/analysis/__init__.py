"""Statistics of runs: pure functions of loaded records, without files, clocks or random numbers."""
