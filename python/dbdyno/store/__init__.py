"""Run folders: write, read, list, query.

Only they connect measuring and explaining, in open formats (JSON and Parquet). A ``RunWriter``
writes one during the run. A ``RunFolder`` reads it, at any time: a ``Tabulator`` makes tables of
its frames until Parquet files replace them. Over all runs there are the list (``summary``) and SQL
(``query``). Studies have folders of their own.
"""
