"""sysbench's SQL workloads: reads by key and by range, and small writes, on simple tables."""
