"""The fuzzer's inputs: those of the recorded exchanges, and those that earlier runs have found.

    python3 fuzz/corpus.py          # writes both into corpus/TARGET, where the fuzzer adds its own
    python3 fuzz/corpus.py keep     # keeps what is there now (after `cargo fuzz cmin TARGET`)

A fuzzer that starts from nothing spends its time on length fields. What is kept lies in one archive
instead of a thousand files; the same inputs give the same bytes.
"""

import sys
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

FUZZ = Path(__file__).parent
TESTS = FUZZ.parent / "tests"
CORPUS = FUZZ / "corpus"
KEPT = FUZZ / "corpus.zip"


def side(recording: str, mark: str) -> bytes:
    """All that one side sent."""
    turns = [line[2:] for line in recording.splitlines() if line.startswith(mark)]
    return b"".join(turn.encode().decode("unicode_escape").encode("latin-1") for turn in turns)


def write() -> None:
    """Writes the corpus of each target; what is there stays."""
    for protocol, role, mark, prefixes in [
        ("postgres", "client", "<", [b"\x00", b"\xfe", b"\xff"]),
        ("postgres", "server", ">", [b""]),
        ("mysql", "client", "<", [b"\x06", b"\xfd", b"\xfe", b"\xff"]),
        ("mysql", "server", ">", [b""]),
    ]:
        corpus = CORPUS / f"{protocol}_{role}"
        corpus.mkdir(parents=True, exist_ok=True)
        for path in (TESTS / protocol / "recordings").glob("*/*.txt"):
            received = side(path.read_text(), mark)
            for number, prefix in enumerate(prefixes):
                (corpus / f"{path.parent.name}-{path.stem}-{number}").write_bytes(prefix + received)
    with ZipFile(KEPT) as kept:
        kept.extractall(CORPUS)


def keep() -> None:
    """Keeps the corpora as they are."""
    with ZipFile(KEPT, "w", ZIP_DEFLATED) as kept:
        for path in sorted(CORPUS.glob("*/*")):
            kept.writestr(ZipInfo(str(path.relative_to(CORPUS))), path.read_bytes(), ZIP_DEFLATED)


if __name__ == "__main__":
    keep() if sys.argv[1:] == ["keep"] else write()
