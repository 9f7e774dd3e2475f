"""Workloads: schema, data, weighted scripts, parameters, invariants; one folder each."""
