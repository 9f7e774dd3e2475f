"""Run folders: write, read, list, query.

They are the only thing that passes from measuring to explaining, in open formats (JSON and
Parquet).
"""
