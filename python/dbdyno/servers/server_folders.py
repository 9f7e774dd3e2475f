"""Where the folders of our servers are: in the home, unless another account must reach them.

Only its owner may enter the home. When root runs a server under an ordinary account, the folders
above the server's own may be passed through (not read) by others, and only those that are dbdyno's;
if the home itself is in a folder closed to the account, a folder in /var/tmp is used.
"""

import os
from pathlib import Path

from dbdyno.errors import DbdynoError
from dbdyno.home import home, home_folder, unwritable
from dbdyno.servers.privileges import Identity

OPEN_TO_ALL = Path("/var/tmp")  # on disk, while /tmp may be in memory
PASS_THROUGH = 0o711


def place_for(kind: str, identity: Identity) -> Path:
    """Return the folder that contains those of all servers of a kind, created if necessary."""
    if identity.account is None:
        return home_folder(kind)
    home_folder()  # the umask decides who may pass through the folders above that this creates
    if _reaches_home(identity):
        place = home_folder(kind)
        home().chmod(PASS_THROUGH)
    else:
        place = _stand_in() / kind
        place.mkdir(exist_ok=True)
    place.chmod(PASS_THROUGH)
    return place


def place_of(kind: str, identity: Identity) -> Path:
    """Return the same folder without creating or opening anything; it may not exist."""
    return (home() if _reaches_home(identity) else _stand_in_path()) / kind


def _reaches_home(identity: Identity) -> bool:
    return identity.account is None or identity.can_pass(_nearest_existing(home().parent))


def _stand_in_path() -> Path:
    return OPEN_TO_ALL / f"dbdyno-{os.geteuid()}"


def _stand_in() -> Path:
    """Create the folder in /var/tmp; refuse one that belongs to another user."""
    folder = _stand_in_path()
    try:
        folder.mkdir(exist_ok=True, mode=PASS_THROUGH)
    except OSError as error:
        raise unwritable(folder, error) from error
    if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
        raise DbdynoError(
            "folder_taken", f"{folder} belongs to another user", "remove it, or set DBDYNO_HOME"
        )
    folder.chmod(PASS_THROUGH)  # whatever the umask
    return folder


def _nearest_existing(folder: Path) -> Path:
    return folder if folder.exists() else _nearest_existing(folder.parent)
