"""A workload as one folder: schema, data, Lua."""
