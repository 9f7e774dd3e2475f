"""Where the folders of our servers lie: in the home, unless another account must reach them.

The home is its owner's alone. When root runs a server under an ordinary account, the folders
above the server's own are opened for passing through (not for reading), and only those that are
dbdyno's; if the home itself lies behind a closed door, a folder in /var/tmp stands in for it.
"""

import os
from pathlib import Path

from dbdyno.errors import DbdynoError
from dbdyno.home import home, home_folder, unwritable
from dbdyno.servers.privileges import Identity

OPEN_TO_ALL = Path("/var/tmp")  # a disk, where /tmp may be memory
PASS_THROUGH = 0o711


def place_for(kind: str, identity: Identity) -> Path:
    """The folder that holds the folders of all servers of a kind."""
    if identity.account is None:
        return home_folder(kind)
    if _reaches_home(identity):
        place = home_folder(kind)
        home().chmod(PASS_THROUGH)
    else:
        place = _stand_in() / kind
        place.mkdir(exist_ok=True)
    place.chmod(PASS_THROUGH)
    return place


def place_of(kind: str, identity: Identity) -> Path:
    """The same folder as it is, or is not: nothing is made or opened."""
    return (home() if _reaches_home(identity) else _stand_in_path()) / kind


def _reaches_home(identity: Identity) -> bool:
    return identity.account is None or identity.can_pass(_nearest_existing(home().parent))


def _stand_in_path() -> Path:
    return OPEN_TO_ALL / f"dbdyno-{os.geteuid()}"


def _stand_in() -> Path:
    """Refuses a folder that somebody else has put there."""
    folder = _stand_in_path()
    try:
        folder.mkdir(exist_ok=True, mode=PASS_THROUGH)
    except OSError as error:
        raise unwritable(folder, error) from error
    if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
        raise DbdynoError(
            "folder_taken", f"{folder} belongs to another user", "remove it, or set DBDYNO_HOME"
        )
    return folder


def _nearest_existing(folder: Path) -> Path:
    return folder if folder.exists() else _nearest_existing(folder.parent)
