"""Where studies are found: those supplied with dbdyno, by name, and the user's files."""

from pathlib import Path

from dbdyno.errors import DbdynoError, nearest

CATALOGUE = Path(__file__).parent / "catalog"
ENDING = ".toml"


def catalogue() -> dict[str, Path]:
    """Return the studies supplied with dbdyno."""
    return {path.stem: path for path in sorted(CATALOGUE.glob(f"*{ENDING}"))}


def find_study(name: str) -> Path:
    """Return the file that the user means: a name of the catalogue, or a path."""
    known = catalogue()
    if name in known:
        return known[name]
    path = Path(name)
    if name.endswith(ENDING) or path.is_file():
        return path
    near = nearest(name, known)
    end = "" if near.endswith("?") else "."
    raise DbdynoError(
        "unknown_study",
        f"unknown study {name!r}",
        f"{near}{end} A file of your own ends in {ENDING}.",
    )
