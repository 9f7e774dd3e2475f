"""``dbdyno home``: what dbdyno keeps on disk, and how to remove it. Removes nothing."""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from dbdyno.cli.app import Json, command
from dbdyno.cli.output import Exit, print_aside, print_json, print_table
from dbdyno.formatting import gigabytes
from dbdyno.home import home as folder_of_all
from dbdyno.servers.copying import tree_bytes
from dbdyno.servers.privileges import server_identity
from dbdyno.servers.server_folders import place_of
from dbdyno.store.listing import runs_folder
from dbdyno.store.studies import studies_folder

app = command(
    "home",
    "dbdyno home                what is kept, its size, and how to remove it",
    "dbdyno runs rm --older 90d",
    "dbdyno data prune --older 30d",
)


class StoredData(Struct, frozen=True, kw_only=True):
    """One kind of data that outlives a command."""

    what: str
    folder: Path
    number: int
    bytes: int
    removed_by: str


@app.default
def home(*, json: Json = False) -> int:
    """Show what dbdyno keeps on disk, and how to remove it.

    Everything is in one folder, DBDYNO_HOME (default ~/.local/share/dbdyno). If root runs
    servers under another account that cannot enter this folder, they are in /var/tmp instead.

    dbdyno keeps nothing elsewhere, except files named on a command line: sockets and locks in /tmp
    are removed. Of what was started by the web page it keeps the last 50 messages; everything else
    stays until a command removes it.
    """
    kept = list(_stored())
    if json:
        print_json({"home": folder_of_all(), "kept": kept})
        return Exit.OK
    print_table(
        ("what", "number", "size", "removed by", "folder"),
        (
            (one.what, str(one.number), gigabytes(one.bytes), one.removed_by, str(one.folder))
            for one in kept
        ),
    )
    print_aside(f"{gigabytes(sum(one.bytes for one in kept))} in total")
    return Exit.OK


def _stored() -> Iterator[StoredData]:
    identity = server_identity()
    yield _found("runs", runs_folder(), "dbdyno runs rm --older 90d")
    yield _found("studies (without runs)", studies_folder(), "dbdyno study rm STUDY")
    yield _found("prepared data sets", folder_of_all() / "data", "dbdyno data prune --older 30d")
    yield _found("kept servers", place_of("servers", identity), "dbdyno server stop NAME")
    yield _found("private servers", place_of("private", identity), "the end of their run")
    yield _found("started from the page", folder_of_all() / "started", "later starts: 50 are kept")
    yield _found("downloaded servers", folder_of_all() / "binaries", "removing their folder")


def _found(what: str, folder: Path, removed_by: str) -> StoredData:
    """Count and measure folders; names with a leading dot are being created or removed."""
    folders = [path for path in folder.glob("[!.]*") if path.is_dir()]
    size = sum(map(tree_bytes, folders))
    return StoredData(
        what=what, folder=folder, number=len(folders), bytes=size, removed_by=removed_by
    )
