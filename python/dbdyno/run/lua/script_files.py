"""Where sysbench scripts are, and the texts of modules that they may require.

A name is first looked up as a file, then as a script of an installed sysbench. What a script
requires is not known before it runs: every module beside it, or in sysbench's folder, whose name
occurs in its text is sent along; the engine opens no files.
"""

import re
import shutil
from collections.abc import Iterator, Mapping
from glob import glob
from pathlib import Path

from dbdyno.errors import DbdynoError, why_unreadable

ENDING = ".lua"
_FOLDERS = ("/usr/local/share/sysbench", "/usr/share/sysbench")
_IDENTIFIER = re.compile(r"[\w-]+")


def find_script(name: str) -> Path | None:
    """Return the file of this name, or sysbench's own script, with or without its ending."""
    given = Path(name)
    if given.suffix == ENDING and given.is_file():
        return given
    if given.suffix not in ("", ENDING) or given.name != name:
        return None
    places = (folder / f"{given.stem}{ENDING}" for folder in sysbench_folders())
    return next((place for place in places if place.is_file()), None)


def sysbench_folders() -> list[Path]:
    """Return the folders where sysbench may have its scripts, the installed program's first."""
    program = shutil.which("sysbench")
    beside = [Path(program).resolve().parent.parent / "share/sysbench"] if program else []
    return [*beside, *(Path(folder) for folder in _FOLDERS)]


def read_script(path: Path) -> str:
    """Return the text of a script."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DbdynoError(
            code="script_unreadable",
            message=f"cannot read the script {path}: {why_unreadable(error)}",
            hint="A sysbench script is a Lua file.",
        ) from error


def modules_for(script: Path, text: str) -> dict[str, str]:
    """Return texts by the names under which the script or its modules may require them."""
    known = {name: path for name, path in _modules_near(script).items() if path != script}
    found: dict[str, str] = {}
    unread = [text]
    while unread:
        for name in _mentioned(unread.pop(), known.keys() - found.keys()):
            found[name] = read_script(known[name])
            unread.append(found[name])
    return found


def _modules_near(script: Path) -> Mapping[str, Path]:
    """Return modules by name; the script's own folder has precedence over sysbench's."""
    modules: dict[str, Path] = {}
    for folder in (script.parent, *sysbench_folders()):
        for path in _files_in(folder):
            parts = path.relative_to(folder).with_suffix("").parts
            modules.setdefault(".".join(parts), path)
    return modules


def _files_in(folder: Path) -> Iterator[Path]:
    """Return Lua files there and one folder below, so that no whole home directory is searched.

    Files that vanish meanwhile are skipped, unlike with :meth:`Path.glob`.
    """
    found = (glob(pattern, root_dir=folder) for pattern in (f"*{ENDING}", f"*/*{ENDING}"))  # noqa: PTH207
    return (folder / name for names in found for name in sorted(names))


def _mentioned(text: str, names: set[str]) -> list[str]:
    identifiers = set(_IDENTIFIER.findall(text))
    return sorted(name for name in names if name.rpartition(".")[2] in identifiers)
