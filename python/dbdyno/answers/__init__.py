"""The conclusions of studies: one file per answer, each ending in ``ANSWER = …``.

An answer receives the runs of a study and returns sentences with effect and interval, tables and
charts as plain data. It reads no files and draws nothing; ``report`` shows what it returns.
"""
