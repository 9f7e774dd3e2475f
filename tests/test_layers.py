"""Dependencies run one way, in both languages.

``MAY_IMPORT`` says for each layer which others it may use. What is not in the table may not
be imported, and a folder that is not in it fails: a new layer is a decision, made here.
"""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "python/dbdyno"

# The layers of the package, lowest first. A layer may import itself.
MAY_IMPORT: dict[str, set[str]] = {
    "model": {"errors"},
    "formatting": set(),
    "layout": {"formatting"},  # line breaking
    "errors": set(),
    "registry": set(),
    "home": {"errors"},
    "engine": {"build", "errors", "model"},
    "build": set(),
    "watch": set(),
    "agent": {"build"},  # the engine's own process
    "fleet": {"engine", "errors", "formatting", "model", "watch"},
    "databases": {"engine", "errors", "home", "model"},
    "servers": {"databases", "errors", "home", "model"},
    # What a database has for being started: ``servers`` finds it by name.
    "databases/*/server": {"databases", "errors", "home", "model", "servers"},
    "host": {"databases/*/server", "engine", "errors", "home", "model", "registry", "servers"},
    "workloads": {"databases", "errors", "model"},
    "analysis": {"model", "formatting"},
    "explain": {"analysis", "engine", "layout", "model", "registry", "formatting"},
    "answers": {"analysis", "explain", "model", "registry", "formatting"},
    "report": {"analysis", "answers", "errors", "explain", "layout", "model", "formatting"},
    "store": {"databases", "errors", "home", "model"},
    "telemetry": {"databases", "engine", "host", "model"},
    "imports": {"analysis", "databases", "explain", "model", "store", "formatting"},
    "run": {
        "analysis",
        "databases",
        "engine",
        "explain",
        "errors",
        "fleet",
        "home",
        "host",
        "model",
        "report",
        "servers",
        "store",
        "telemetry",
        "formatting",
        "workloads",
        "watch",
    },
    # Other tools' command lines and output.
    "peers": {
        "databases",
        "errors",
        "home",
        "model",
        "run",
        "servers",
        "store",
        "workloads",
    },
    "study": {
        "analysis",
        "answers",
        "databases",
        "errors",
        "explain",
        "fleet",
        "home",
        "host",
        "model",
        "run",
        "servers",
        "store",
        "formatting",
        "workloads",
    },
    "serve": {
        "analysis",
        "errors",
        "explain",
        "formatting",
        "home",
        "model",
        "report",
        "run",
        "servers",
        "store",
        "study",
        "workloads",
    },
    "cli": {
        "analysis",
        "answers",
        "databases",
        "engine",
        "explain",
        "errors",
        "fleet",
        "home",
        "host",
        "imports",
        "layout",
        "model",
        "peers",
        "report",
        "run",
        "serve",
        "servers",
        "store",
        "study",
        "formatting",
        "workloads",
    },
    "__main__": {"cli"},
    # The Python API: what `import dbdyno` offers.
    "__init__": {"model", "store"},
}

RUST = "dbdyno._engine"

# Packages that only these layers may import.
ONLY_IN: dict[str, set[str]] = {
    RUST: {"engine", "agent"},  # the boundary between the languages, on both sides
    "psycopg": {"databases", "databases/*/server"},
    "pymysql": {"databases", "databases/*/server"},
    "cyclopts": {"cli", "run"},
    "duckdb": {"store"},
    "starlette": {"serve"},
    "sse_starlette": {"serve"},
    "uvicorn": {"serve"},
}

# Layers of pure functions: everything they work on is an argument.
PURE = {"model", "formatting", "analysis", "explain", "answers"}
TOUCHES_THE_WORLD = {"os", "pathlib", "socket", "subprocess", "tempfile", "time", "random"}

# model, sql ◄ hist, wire, script ◄ load ◄ engine ◄ py; sim and profile stand beside engine.
CRATE_MAY_USE: dict[str, set[str]] = {
    "model": {"errors"},
    "hist": {"model"},
    "sql": set(),
    "wire": {"model", "sql"},
    "script": {"model", "sql"},
    "load": {"model", "hist", "script"},
    "sim": {"model", "hist", "wire", "script", "load"},
    "engine": {"model", "hist", "sql", "wire", "script", "load"},
    "profile": set(),
    "py": {"model", "hist", "sql", "wire", "script", "load", "engine", "profile"},
}


def layer_of(module: str) -> str:
    """The layer of a module: ``store`` for ``dbdyno.store.run``."""
    parts = [*module.split("."), "__init__"][1:]
    if parts[0] == "databases" and parts[2:3] == ["server"]:
        return "databases/*/server"
    return parts[0]


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        relative = path.relative_to(PACKAGE).with_suffix("")
        yield layer_of(".".join(["dbdyno", *relative.parts])), path


def imports(path: Path) -> Iterator[str]:
    """The full names of everything that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import hides its layer"
            module = node.module or ""
            if module == "dbdyno":
                yield from (f"dbdyno.{alias.name}" for alias in node.names)
            else:
                yield module


def is_of(imported: str, package: str) -> bool:
    return imported == package or imported.startswith(f"{package}.")


def all_imports() -> list[tuple[str, Path, str]]:
    return [(layer, path, imported) for layer, path in modules() for imported in imports(path)]


def test_every_layer_is_in_the_table():
    assert {layer for layer, _ in modules()} <= MAY_IMPORT.keys()


def test_layers_import_only_what_they_may():
    wrong = [
        f"{path.relative_to(ROOT)}: {layer} may not import {imported}"
        for layer, path, imported in all_imports()
        if is_of(imported, "dbdyno")
        and imported != RUST
        and layer_of(imported) not in {layer, *MAY_IMPORT.get(layer, set())}
    ]
    assert wrong == []


def test_the_table_has_no_cycle():
    done: set[str] = set()
    while ready := {name for name, needs in MAY_IMPORT.items() if needs <= done} - done:
        done |= ready
    assert done == MAY_IMPORT.keys()


@pytest.mark.parametrize("package", ONLY_IN)
def test_packages_of_few_layers(package):
    wrong = [
        f"{path.relative_to(ROOT)} imports {imported}"
        for layer, path, imported in all_imports()
        if is_of(imported, package) and layer not in ONLY_IN[package]
    ]
    assert wrong == []


def test_pure_layers_touch_nothing():
    wrong = [
        f"{path.relative_to(ROOT)} imports {imported}"
        for layer, path, imported in all_imports()
        if layer in PURE and imported.split(".")[0] in TOUCHES_THE_WORLD
    ]
    assert wrong == []


def crates() -> dict[str, set[str]]:
    """Each crate with the crates of this repository that it uses, including in tests."""
    found = {}
    for manifest in sorted(ROOT.glob("crates/*/Cargo.toml")):
        content = tomllib.loads(manifest.read_text())
        tables = ("dependencies", "dev-dependencies", "build-dependencies")
        names = {name for table in tables for name in content.get(table, {})}
        internal = {name.removeprefix("dbdyno-") for name in names if name.startswith("dbdyno-")}
        found[manifest.parent.name] = internal - {manifest.parent.name}
    return found


def test_crates_use_only_what_they_may():
    assert crates().keys() == CRATE_MAY_USE.keys()
    wrong = {
        crate: uses - CRATE_MAY_USE[crate]
        for crate, uses in crates().items()
        if uses - CRATE_MAY_USE[crate]
    }
    assert wrong == {}


def test_pure_crates_ban_clocks_sockets_and_files():
    for crate in ("model", "hist", "sql", "wire", "script", "load"):
        lints = tomllib.loads((ROOT / "crates" / crate / "clippy.toml").read_text())
        banned = {entry["path"] for kind in lints.values() for entry in kind}
        assert "std::time::Instant::now" in banned, crate
        assert "std::fs::File" in banned, crate
