"""The conclusions of studies: one file per answer in ``kinds``, each ending in ``ANSWER = …``.

An answer receives the runs of a study and returns sentences with effect and interval, tables and
charts as plain data (``answer``). It reads no files and draws nothing; ``report`` shows what it
returns. ``answering`` asks all questions of a study and makes its verdict of the first claims.

Every answer is made of the same few steps. Runs are chosen and grouped (``grouping``); a number is
taken from each (``measuring``), and compared over the pairs of a block (``level_contrasts``,
``variant_pairs``) or along a factor (``crossing``, ``decade_effect``); what was found is shown
(``intervals``, ``tables``, ``curves``). What several answers know of one subject has a module of
its own: two updates of a script, orders of statements, the size of tables, vacuums.
"""
