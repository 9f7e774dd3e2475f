"""pgbench's workloads: reads and writes of accounts by key, with or without TPC-B's hot rows."""
