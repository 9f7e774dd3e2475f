"""A run's measurements over time: intervals, counters, distributions, stages."""
