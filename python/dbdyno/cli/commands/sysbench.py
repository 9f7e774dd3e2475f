"""``dbdyno sysbench``: sysbench's command line and output, with a run folder.

What is declared here is for the help and the manual: the words are sysbench's own, and are read by
``peers/sysbench``.
"""

from typing import Annotated

from cyclopts import Parameter

from dbdyno.cli.app import command
from dbdyno.peers.sysbench.program import main

app = command(
    "sysbench",
    "dbdyno sysbench oltp_read_write --db-driver=pgsql --tables=4 prepare",
    "dbdyno sysbench oltp_read_write --db-driver=pgsql --tables=4 \\\n"
    "      --threads=64 --time=60 --report-interval=5 --histogram run",
    "dbdyno sysbench oltp_read_write --db-driver=pgsql --tables=4 cleanup",
    'ln -s "$(command -v dbdyno)" ~/bin/sysbench   for scripts and harnesses',
)


@app.default
def sysbench(
    *words: Annotated[str, Parameter(allow_leading_hyphen=True, accepts_keys=False)],
) -> int:
    """Do what sysbench would do with a database, by its command line and with its output.

    Scripts are those of an installed sysbench, or files. Each run is one of dbdyno, which dbdyno
    runs lists and dbdyno explain explains. A link named sysbench to dbdyno takes the same words.
    The manual lists what differs, and why.

    Parameters
    ----------
    words
        Options, the test and its command, as sysbench takes them.
    """
    return main(words)
