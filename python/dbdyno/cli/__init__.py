"""The command line: a face over calls that stand elsewhere.

Text in; text, or one JSON object, out.
"""

from dbdyno.cli.app import main, start

__all__ = ["main", "start"]
