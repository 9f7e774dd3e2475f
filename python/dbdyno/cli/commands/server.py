"""``dbdyno server``: private servers that keep running between commands."""

from typing import Annotated

from cyclopts import Parameter

from dbdyno.cli.app import Json, command
from dbdyno.cli.output import (
    Exit,
    examples,
    print_aside,
    print_json,
    print_result,
    print_table,
    wrapped,
)
from dbdyno.errors import DbdynoError
from dbdyno.model.database import Promise
from dbdyno.run.options.grammar import assignment
from dbdyno.run.options.parameters import each
from dbdyno.servers import kept
from dbdyno.servers.product import settings_by_level
from dbdyno.servers.record import FILE as RECORD
from dbdyno.servers.settings import settings_summary
from dbdyno.servers.spec import parse_spec

CONNECTIONS_DEFAULT = 100

app = command(
    "server",
    "dbdyno server start bench --server postgres:17,shared_buffers=2GB",
    "dbdyno run tpcb --server bench -c 32",
    "dbdyno server logs bench          print its log",
    "dbdyno server stop bench          stop it and remove its data",
)
app.help = """Manage private servers that keep running between commands.

Each has its own folder and Unix socket and keeps running, with its data, until dbdyno server
stop. Load once and measure many times with --server NAME.
"""

Settings = Annotated[
    tuple[tuple[str, str], ...],
    Parameter(name="--set", converter=each(assignment), n_tokens=1, metavar="NAME=VALUE"),
]

Name = Annotated[str, Parameter(show_default=True)]


@app.command(
    help_epilogue=examples(
        "dbdyno server start",
        "dbdyno server start bench --server postgres:17 --set shared_buffers=2GB",
        "dbdyno server start other --server mariadb --durability relaxed",
        "dbdyno server start far --server postgres:/usr/local/pgsql/bin --tcp",
    )
)
def start(  # noqa: PLR0913 - one for each option
    name: Name = "default",
    /,
    *,
    server: Annotated[str, Parameter(show_default=True)] = "postgres",
    settings: Settings = (),
    durability: Promise | None = None,
    connections: Annotated[int, Parameter(show_default=True)] = CONNECTIONS_DEFAULT,
    tcp: bool = False,
    json: Json = False,
) -> int:
    """Start a server that keeps running until dbdyno server stop.

    Parameters
    ----------
    name
        Name of the server; dbdyno run --server NAME uses it.
    server
        KIND[:VERSION|PATH][,setting=value…]; KIND is postgres, mariadb or mysql.
    settings
        A setting of the server; repeatable.
    durability
        Durability of committed transactions, with the same meaning on every kind of server:
        full, relaxed or none.
    connections
        Number of client connections to allow.
    tcp
        Listen on loopback TCP as well as on a Unix socket, with a generated password; dbdyno
        prints which file holds it.
    """
    if connections < 1:
        raise DbdynoError(
            "usage",
            f"--connections {connections}: must be at least 1",
            "See dbdyno server start --help.",
        )
    spec = parse_spec(server).with_settings(dict(settings)).with_durability(durability)
    started = kept.start_kept(name, spec, connections, tcp=tcp)
    if json:
        print_json({"name": name, "url": started.url, "settings": started.settings})
        return Exit.OK
    for line in settings_by_level(durability) if durability else ():
        print_aside(line)
    print_aside(wrapped(settings_summary(started.settings)))
    if tcp and started.log_path is not None:
        print_aside(f"its password is in {started.log_path.with_name(RECORD)}")
    print_result(started.url)
    return Exit.OK


@app.command(
    help_epilogue=examples(
        "dbdyno server stop",
        "dbdyno server stop bench",
    )
)
def stop(name: Name = "default", /) -> int:
    """Stop a server and remove it with all its data.

    Parameters
    ----------
    name
        As given to start.
    """
    kept.stop_kept(name)
    print_result(f"stopped {name}")
    return Exit.OK


@app.command(
    name="list",
    help_epilogue=examples(
        "dbdyno server list",
        "dbdyno server list --json",
    ),
)
def list_(*, json: Json = False) -> int:
    """List kept servers, including those that have died."""
    servers = kept.list_kept()
    if json:
        print_json({"servers": servers})
    elif not servers:
        print_aside(f"No servers. {kept.FIRST}")
    else:
        print_table(
            ("name", "state", "server", "version", "started"),
            (
                (
                    one.name,
                    "running" if one.running else "died",
                    one.product,
                    one.version,
                    one.started_at,
                )
                for one in servers
            ),
        )
    return Exit.OK


@app.command(help_epilogue=examples("dbdyno server logs bench | tail"))
def logs(name: Name = "default", /) -> int:
    """Print a server's log.

    Parameters
    ----------
    name
        As given to start.
    """
    print_result(kept.log_of_kept(name).read_text(errors="replace").rstrip())
    return Exit.OK
