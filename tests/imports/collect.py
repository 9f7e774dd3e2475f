"""Makes outputs of a pgbench for ``collected.tar.xz``, each with its command line before it.

    python -m tests.imports.collect PGBENCH FOLDER

``PGBENCH`` is the program of any version from 13; libpq's environment (``PGHOST``, ``PGPORT``,
``PGUSER``, ``PGDATABASE``) names a server with pgbench's tables. ``FOLDER`` receives
``pgbench-VERSION-NUMBER.txt``. What a tool of another version prints is never edited.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

SCRIPTS = {
    "one.sql": "select 1;\n",
    "keys.sql": "\\set aid random(1, 1000)\n"
    "select abalance from pgbench_accounts where aid = :aid;\n",
    "sleep.sql": "\\sleep 2 ms\nselect 2;\n",
    "branches.sql": "\\set n random(1, 3)\n\\if :n > 1\nselect :n;\n\\else\nselect 0 as n \\gset\n"
    "\\endif\n",
    "serial.sql": "begin isolation level serializable;\n"
    "update pgbench_branches set bbalance = bbalance + 1;\nend;\n",
    "failing.sql": "select 1 / 0;\n",
    "sometimes.sql": "\\set n random(0, 3)\nselect 1 / :n;\n",
}
OPTIONS = {
    13: """\
-t 10
-n -S -t 20
-n -N -c 2 -t 10 -r
-n -c 4 -j 2 -T 2 -P 1
-n -c 4 -j 2 -T 2 -P 1 -r -M prepared
-n -S -c 2 -T 2 -P 1 --progress-timestamp
-n -S -M extended -t 20
-n -C -S -t 10
-n -C -S -c 2 -T 2 -P 1
-n -S -R 100 -T 2 -P 1
-n -R 200 -L 5 -c 2 -T 2 -P 1 -r
-n -L 1 -t 30 -r
-n -b select-only@3 -b simple-update@1 -b tpcb-like@2 -t 30 -r
-n -f one.sql@9 -f keys.sql@1 -c 2 -T 1
-n -f keys.sql -t 20 -r
-n -f sleep.sql -L 10 -t 20 -r
-n -f branches.sql -t 20 -r
-n -f one.sql -s 7 -t 20
-n -f failing.sql -t 5
-n -f failing.sql -f one.sql -t 5 -c 2 -r
-n -S -c 3 -j 3 -t 15 --random-seed=7
-n -S -T 1 -l --log-prefix=own --aggregate-interval=1
-v -t 5
-n -S -c 8 -j 2 -T 3 -P 1 -r""",
    15: """\
-n -t 10 --max-tries=3 --failures-detailed
-n -f serial.sql -c 4 -j 2 -T 2 -P 1 --max-tries=4
-n -f serial.sql -c 4 -T 2 -P 1 -r --max-tries=4 --failures-detailed
-n -f serial.sql -f one.sql -c 4 -T 2 -P 1 -R 500 -L 20 --max-tries=0 -r
-n -f serial.sql -c 4 -t 20 -r --verbose-errors
-n -f serial.sql@2 -b se@1 -c 2 -T 1 --failures-detailed -r""",
    17: """\
-n -f failing.sql -f one.sql -c 2 -t 5 --exit-on-abort""",
    19: """\
-n -f sometimes.sql -c 2 -T 1 -P 1 --continue-on-error
-n -f sometimes.sql -f one.sql -t 50 -r --continue-on-error --failures-detailed
-n -f sometimes.sql -f serial.sql -c 4 -T 2 -r --continue-on-error --max-tries=3""",
}
"""By the first version that knows them."""


def main(program: str, folder: Path) -> None:
    """Run every command line that the program knows, and write what it prints."""
    printed = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    version = int(re.findall(r"\d+", printed.stdout)[0])
    number = count()
    with TemporaryDirectory() as scripts:
        for name, text in SCRIPTS.items():
            Path(scripts, name).write_text(text)
        for line in known_to(version):
            ended = subprocess.run(
                [program, *line.split()],
                cwd=scripts,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            file = folder / f"pgbench-{version}-{next(number):02}.txt"
            file.write_text(f"$ pgbench {line}\n{ended.stdout}")


def known_to(version: int) -> Iterator[str]:
    """Yield the command lines that a version knows."""
    for since, lines in OPTIONS.items():
        if since <= version:
            yield from lines.splitlines()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
