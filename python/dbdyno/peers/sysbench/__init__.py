"""sysbench's command line and output: ``dbdyno sysbench``, or a link of that name to ``dbdyno``."""
