"""``python -m dbdyno`` is ``dbdyno``."""

from dbdyno.cli import start

start()
