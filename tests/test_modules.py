"""No circles between the modules of a crate: whatever one needs can be read before it.

A folder's own module (``mod.rs``) may use what is in the folder, and what is in the folder may use
its types; every other pair of files depends one way or not at all.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CRATES = [*sorted(ROOT.glob("crates/*/src")), ROOT / "crates/engine/examples/bare_loop"]

Module = tuple[str, ...]

NO_CODE = re.compile(r"""//[^\n]*|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)'""", re.DOTALL)
TESTS = re.compile(r"#\[cfg\(test\)\]\s*mod tests\s*\{.*", re.DOTALL)
USE = re.compile(r"\buse\s+([^;]+);")
PATH = re.compile(r"(?<![\w:])[a-z_]\w*(?:::\w+)+")


def modules_of(root: Path) -> dict[Module, str]:
    """Each file's module, with its text without comments, strings and tests."""
    found = {}
    for file in sorted(root.rglob("*.rs")):
        path = file.relative_to(root).with_suffix("").parts
        module = path[:-1] if path[-1] in ("mod", "lib", "main") else path
        found[module] = TESTS.sub("", NO_CODE.sub("", file.read_text()))
    return found


def paths_in(tree: str) -> Iterator[str]:
    """The paths of a ``use``: ``a::{b, c}`` is ``a::b`` and ``a::c``."""
    head, brace, rest = tree.strip().partition("{")
    if not brace:
        yield re.sub(r"\s+as\s+\w+$", "", head)
        return
    depth, part = 0, ""
    for character in rest:
        if depth == 0 and character in ",}":
            if part.strip():
                yield from (head + path for path in paths_in(part))
            part = ""
            continue
        depth += (character == "{") - (character == "}")
        part += character


class Crate:
    """The modules of a crate, and which of them use which others."""

    def __init__(self, root: Path) -> None:
        self.texts = modules_of(root)
        self.names = {
            module: {path.split("::")[-1]: path for path in self.used(module)}
            for module in self.texts
        }

    def used(self, module: Module) -> Iterator[str]:
        for tree in USE.findall(self.texts[module]):
            yield from paths_in(tree)

    def home_of(self, module: Module, path: str, depth: int = 0) -> Module | None:
        """The module in which the thing of this path is, seen from a module."""
        first, *rest = path.split("::")
        if first == "super":
            at = module[:-1]
            while rest and rest[0] == "super":
                at, rest = at[:-1], rest[1:]
        elif first in ("crate", "self"):
            at = () if first == "crate" else module
        elif (*module, first) in self.texts:
            at = (*module, first)
        else:
            return None  # of another crate, or not a module
        while rest and (*at, rest[0]) in self.texts:
            at, rest = (*at, rest[0]), rest[1:]
        named = self.names[at].get(rest[0]) if rest and depth < 9 else None
        return (named and self.home_of(at, named, depth + 1)) or at

    def needs(self, module: Module) -> set[Module]:
        """The modules that this one uses, besides those of the folders that it is in."""
        inline = PATH.findall(USE.sub("", self.texts[module]))
        homes = {self.home_of(module, path) for path in [*self.used(module), *inline]}
        return {home for home in homes if home is not None and module[: len(home)] != home}


def circle_of(needs: dict[Module, set[Module]]) -> set[Module]:
    """What is left without the modules that need none of the others, or that none needs."""
    left = set(needs)
    while True:
        needed = set[Module]().union(*(needs[module] for module in left))
        inner = {module for module in left if needs[module] & left and module in needed}
        if inner == left:
            return left
        left = inner


@pytest.mark.parametrize("root", CRATES, ids=lambda root: str(root.relative_to(ROOT / "crates")))
def test_the_modules_of_a_crate_have_no_circle(root):
    crate = Crate(root)
    assert len(crate.texts) > 1
    circle = circle_of({module: crate.needs(module) for module in crate.texts})
    assert {"::".join(module) for module in circle} == set()


def test_a_circle_is_found(tmp_path):
    for name, text in {
        "lib.rs": "mod a; mod b; pub use a::A;",
        "a.rs": "use super::b::{self, B};\npub struct A(B);",
        "b.rs": "use crate::{A, other}; // found where it is reexported from\npub struct B;",
        "c.rs": 'fn f() { super::a::g("super::d") }',
    }.items():
        (tmp_path / name).write_text(text)
    crate = Crate(tmp_path)
    needs = {module: crate.needs(module) for module in crate.texts}
    assert needs[("c",)] == {("a",)}
    assert circle_of(needs) >= {("a",), ("b",)}
    (tmp_path / "b.rs").write_text("pub struct B;")
    crate = Crate(tmp_path)
    assert circle_of({module: crate.needs(module) for module in crate.texts}) == set()
