"""Statistics of runs: pure functions of loaded records; no file, no clock, no chance."""
