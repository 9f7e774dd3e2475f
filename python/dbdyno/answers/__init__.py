"""What studies conclude: one file an answer, each ending in ``ANSWER = …``.

An answer is handed the runs of a study and gives sentences with effect and interval, tables and
pictures as plain data. It opens nothing and draws nothing; ``report`` shows what it gives.
"""
