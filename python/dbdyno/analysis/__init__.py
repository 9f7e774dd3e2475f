"""Statistics of runs: pure functions of loaded records, without files, clocks or random numbers.

``series`` brings measurements of a run to one time axis. On them rest its ``events``, its ``waits``
(where client time went) and its ``costs`` per transaction. Several runs are compared (``compare``),
joined to a curve (``growth``) or searched for a limit (``search``), each by ``statistics`` that
know nothing of databases. ``summarize`` gives the numbers of one run, ``doubts`` what weakens them.
"""
