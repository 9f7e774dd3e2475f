"""Example programs of the engine's crates that only the bench needs."""

import os
import subprocess
from pathlib import Path


def built_example(package: str, name: str) -> str:
    """Builds it like the engine; returns its path."""
    arguments = ["--quiet", "--release", "--locked", "-p", package, "--example", name]
    subprocess.run(["cargo", "build", *arguments], check=True)
    return str(Path(os.environ.get("CARGO_TARGET_DIR", "target")) / "release" / "examples" / name)
