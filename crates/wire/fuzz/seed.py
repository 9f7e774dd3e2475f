"""Makes the fuzzer's first inputs from the recorded exchanges.

A fuzzer that starts from nothing spends its time on length fields.
"""

from pathlib import Path

FUZZ = Path(__file__).parent
TESTS = FUZZ.parent / "tests"


def side(recording: str, mark: str) -> bytes:
    """All that one side sent."""
    turns = [line[2:] for line in recording.splitlines() if line.startswith(mark)]
    return b"".join(turn.encode().decode("unicode_escape").encode("latin-1") for turn in turns)


def main() -> None:
    """Writes the corpus of each target."""
    for protocol, role, mark, prefixes in [
        ("postgres", "client", "<", [b"\x00", b"\xfe", b"\xff"]),
        ("postgres", "server", ">", [b""]),
        ("mysql", "client", "<", [b"\x06", b"\xfd", b"\xfe", b"\xff"]),
        ("mysql", "server", ">", [b""]),
    ]:
        corpus = FUZZ / "corpus" / f"{protocol}_{role}"
        corpus.mkdir(parents=True, exist_ok=True)
        for path in (TESTS / protocol / "recordings").glob("*/*.txt"):
            received = side(path.read_text(), mark)
            for number, prefix in enumerate(prefixes):
                (corpus / f"{path.parent.name}-{path.stem}-{number}").write_bytes(prefix + received)


if __name__ == "__main__":
    main()
