"""``dbdyno where``: the folder in which everything is stored."""

from dbdyno.cli.app import command
from dbdyno.cli.output import Exit, print_lines
from dbdyno.home import home

app = command("where", "dbdyno where")


@app.default
def where() -> int:
    """Show the folder in which dbdyno stores everything."""
    print_lines([str(home())])
    return Exit.OK
