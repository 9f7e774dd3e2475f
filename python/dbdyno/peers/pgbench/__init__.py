"""pgbench's command line and output: ``dbdyno pgbench``, or a link of that name to ``dbdyno``."""
