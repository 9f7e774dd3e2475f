"""Run folders: write, read, list, query.

Only they connect measuring and explaining, in open formats (JSON and Parquet).
"""
