"""The links of the pages are valid, no file names a private host, all pages are in the manual."""

import re
import subprocess
from pathlib import Path

import pytest

from dbdyno.study.file import catalogue
from docs import reference

ROOT = Path(__file__).parent.parent.parent
PAGES = [
    *(ROOT / "docs").glob("*.md"),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
]

# Hosts of public projects and standards, which a document may name.
WELL_KNOWN_HOSTS = (
    "127.0.0.1",
    "apache.org",
    "example.com",
    "example.org",
    "github.com",
    "keepachangelog.com",
    "mariadb.com",
    "mysql.com",
    "postgresql.org",
    "ray.io",
    "semver.org",
    "w3.org",
)
HOST = re.compile(r"https?://(?:[\w.-]*@)?([\w.-]+)")
# Written in two parts so that this file does not find itself.
PLACES = re.compile("/" + r"(?:root|home/\w+|Users/\w+)/(?!\.)" + "|" + "/" + "work/")


LEFT_BY_FUZZERS = "crates/wire/fuzz/artifacts"


def repository_files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True
    ).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def texts() -> list[tuple[Path, str]]:
    found = []
    for path in repository_files():
        try:
            found.append((path, path.read_text(encoding="utf-8")))
        except UnicodeDecodeError:
            continue  # a recording or a picture
    return found


def test_no_file_names_a_private_host_or_folder():
    wrong = []
    for path, text in texts():
        hosts = {host for host in HOST.findall(text) if "." in host}
        strange = [h for h in hosts if not h.endswith((*WELL_KNOWN_HOSTS, ".invalid", ".test"))]
        wrong += [f"{path.relative_to(ROOT)}: {host}" for host in strange]
        wrong += [f"{path.relative_to(ROOT)}: {place}" for place in PLACES.findall(text)]
    assert wrong == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page):
    built = {f"reference/{name}.md" for name in reference.PAGES}
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
    missing = [link for link in links if link not in built and not (page.parent / link).exists()]
    assert missing == []


def test_every_page_is_in_the_manual():
    navigation = (ROOT / "mkdocs.yml").read_text()
    named = [page.name for page in (ROOT / "docs").glob("*.md")]
    named += [f"reference/{name}.md" for name in reference.PAGES]
    assert [name for name in named if name not in navigation] == []


def test_the_readme_names_only_targets_that_make_has():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for name in ("README.md", "CONTRIBUTING.md"):
        named = set(re.findall(r"(?:^|`)make ([a-z]+)", (ROOT / name).read_text(), re.MULTILINE))
        assert named <= targets


def test_contributing_lists_every_target():
    makefile = (ROOT / "Makefile").read_text()
    table = (ROOT / "CONTRIBUTING.md").read_text().partition("\n## Where")[0]
    described = set(re.findall(r"^([a-z]+):.*## ", makefile, re.MULTILINE)) - {"help"}
    assert described == set(re.findall(r"^\| `make ([a-z]+)` \|", table, re.MULTILINE))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_of_the_repository_that_a_page_names_exist(page):
    """Words in capitals stand for any name."""
    text = page.read_text(encoding="utf-8")
    named = re.findall(r"`((?:python|crates|tests|bench|docs|tools)/[\w./-]+)`", text)
    if page.name in ("architecture.md", "adding-a-database.md"):
        modules = re.findall(r"`([a-z_]+/(?:[\w/]+\.py)?|[a-z]\w+\.py)`", text)
        named += [f"python/dbdyno/**/{module}" for module in modules if "tests/" not in module]
    listed = [re.sub(r"[A-Z]{3,}", "*", name).rstrip("/") for name in named]
    missing = [name for name in listed if not list(ROOT.glob(name))]
    assert missing == [name for name in missing if name == LEFT_BY_FUZZERS]


def test_every_study_has_its_page():
    assert [name for name in catalogue() if not (ROOT / f"docs/studies-{name}.md").exists()] == []


def test_the_architecture_has_every_crate_and_layer_in_its_tables():
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    _, rust, python = re.split(r"^## (?:Rust|Python) .*$", text, flags=re.MULTILINE)
    assert named_first(rust) == {path.parent.name for path in ROOT.glob("crates/*/Cargo.toml")}
    package = ROOT / "python/dbdyno"
    layers = {path.parent.name for path in package.glob("*/__init__.py")}
    modules = {path.stem for path in package.glob("[a-z]*.py")} - {"engine", "agent"}
    assert named_first(python) == layers | modules


def named_first(chapter: str) -> set[str]:
    """What the first cells of its tables name."""
    table, _, _ = chapter.partition("\n## ")
    return set(re.findall(r"`(\w+)`", " ".join(re.findall(r"^\|([^|]+)", table, re.MULTILINE))))
