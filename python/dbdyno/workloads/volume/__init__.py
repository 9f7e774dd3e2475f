"""The workload ``volume``."""
