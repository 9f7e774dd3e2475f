"""``python -m dbdyno`` is ``dbdyno``."""

import sys

from dbdyno.cli import main

sys.exit(main())
