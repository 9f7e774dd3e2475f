"""Where sysbench scripts are, and the texts of modules that they may require.

A name is first looked up as a file, then as a script of an installed sysbench. What a script
requires is not known before it runs: every module whose name occurs in its text is sent along, from
its own folder, the current one, those that its text names, those of LUA_PATH, and sysbench's; the
engine opens no files.
"""

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from glob import glob
from itertools import product
from pathlib import Path

from dbdyno.errors import DbdynoError, why_unreadable

ENDING = ".lua"
_FOLDERS = ("/usr/local/share/sysbench", "/usr/share/sysbench")
_PATTERNS = (f"*{ENDING}", f"*/*{ENDING}", f"*/*/init{ENDING}")
_DEEP = re.compile(r"[\w-]+(?:\.[\w-]+){2,}")
"""A module at least two folders down."""
_IDENTIFIER = re.compile(r"[\w-]+")
_QUOTED = re.compile(r"""(["'])(.*?)\1|\[\[(.*?)\]\]""")


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
    found: dict[str, str] = {}
    folders = [script.parent, Path()]
    unread = [text]
    while unread:
        read = unread.pop()
        folders += _folders_named(read, script.parent)
        beyond = (*_folders_in_path(os.environ.get("LUA_PATH", "")), *sysbench_folders())
        places = dict.fromkeys((*folders, *beyond))
        known = {**_modules_in(places, script), **_modules_deep_in(places, read)}
        mentioned = set(_IDENTIFIER.findall("\n".join((read, *found.values()))))
        for name in sorted(known.keys() - found.keys()):
            if name.rpartition(".")[2] in mentioned:
                found[name] = read_script(known[name])
                unread.append(found[name])
    return found


def _folders_named(text: str, beside: Path) -> list[Path]:
    """Return existing folders of the paths, templates (``lib/?.lua``) and files in quotes."""
    quoted = ("".join(parts) for _, *parts in _QUOTED.findall(text))
    named = [Path(folder) for words in quoted for folder in _folders_in_path(words)]
    return [start / folder for folder in named for start in (Path(), beside)]


def _folders_in_path(path: str) -> list[Path]:
    """Return the folders of a Lua path: what precedes ``?``, a file's name, or the end."""
    parts = (part.partition("?")[0] for part in path.split(";"))
    heads = (part.rpartition("/")[0] for part in parts)
    return [Path(head) for head in heads if head]


def _modules_in(folders: Iterable[Path], script: Path) -> Mapping[str, Path]:
    """Return modules by name; those of earlier folders have precedence."""
    modules: dict[str, Path] = {}
    for folder in folders:
        for path in _files_in(folder):
            parts = path.relative_to(folder).with_suffix("").parts
            if path.resolve() != script.resolve():
                modules.setdefault(".".join(parts), path)
                if parts[-1] == "init":
                    modules.setdefault(".".join(parts[:-1]), path)
    return modules


def _modules_deep_in(folders: Iterable[Path], text: str) -> Mapping[str, Path]:
    """Return modules whose whole dotted name is quoted in the text: only these files are tried."""
    modules: dict[str, Path] = {}
    names = {"".join(parts) for _, *parts in _QUOTED.findall(text)}
    for folder, name in product(folders, sorted(filter(_DEEP.fullmatch, names))):
        inside = name.replace(".", "/")
        for path in (folder / f"{inside}{ENDING}", folder / f"{inside}/init{ENDING}"):
            if path.is_file():
                modules.setdefault(name, path)
    return modules


def _files_in(folder: Path) -> Iterator[Path]:
    """Return Lua files there and a folder below, so that no whole home directory is searched.

    Files that vanish meanwhile are skipped, unlike with :meth:`Path.glob`.
    """
    found = (glob(pattern, root_dir=folder) for pattern in _PATTERNS)  # noqa: PTH207
    return (folder / name for names in found for name in sorted(names))
