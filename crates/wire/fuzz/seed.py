"""Makes the fuzzer's first inputs from the recorded exchanges.

A fuzzer that starts from nothing spends its time on length fields.
"""

from pathlib import Path

FUZZ = Path(__file__).parent
RECORDINGS = FUZZ.parent / "tests" / "postgres" / "recordings"


def side(recording: str, mark: str) -> bytes:
    """All that one side sent."""
    turns = [line[2:] for line in recording.splitlines() if line.startswith(mark)]
    return b"".join(turn.encode().decode("unicode_escape").encode("latin-1") for turn in turns)


def main() -> None:
    """Writes the corpus of each target."""
    for target, mark, prefixes in [
        ("postgres_client", "<", [b"\x00", b"\xfe", b"\xff"]),
        ("postgres_server", ">", [b""]),
    ]:
        corpus = FUZZ / "corpus" / target
        corpus.mkdir(parents=True, exist_ok=True)
        for path in RECORDINGS.glob("*/*.txt"):
            received = side(path.read_text(), mark)
            for number, prefix in enumerate(prefixes):
                (corpus / f"{path.parent.name}-{path.stem}-{number}").write_bytes(prefix + received)


if __name__ == "__main__":
    main()
