"""``dbdyno pgbench``: pgbench's command line and output, with a run folder.

What is declared here is for the help and the manual: the words are pgbench's own, and are read by
``peers/pgbench``.
"""

from typing import Annotated

from cyclopts import Parameter

from dbdyno.cli.app import command
from dbdyno.peers.pgbench.program import main

app = command(
    "pgbench",
    "dbdyno pgbench -i -s 50 bench",
    "dbdyno pgbench -c 32 -j 2 -T 60 -P 5 -r bench",
    "dbdyno pgbench -b select-only@9 -f mine.sql@1 -R 500 -L 20 -T 60 bench",
    "dbdyno pgbench -c 8 -T 60 -l --aggregate-interval=10 bench",
    'ln -s "$(command -v dbdyno)" ~/bin/pgbench   for scripts and harnesses',
)


@app.default
def pgbench(
    *words: Annotated[str, Parameter(allow_leading_hyphen=True, accepts_keys=False)],
) -> int:
    """Do what pgbench would do, by its command line and with its output.

    Each benchmark is a run of dbdyno, which dbdyno runs lists and dbdyno explain explains. A link
    named pgbench to dbdyno takes the same words, so that scripts and harnesses run unchanged.
    dbdyno pgbench -? lists the options; the manual lists what differs, and why.

    Parameters
    ----------
    words
        Options and the database, as pgbench takes them.
    """
    return main(words)
