"""YCSB A to F: records by key, read, updated, inserted and scanned, on a server with SQL."""
