"""Small study files for tests."""

from pathlib import Path

from dbdyno.model.study import Size, StudySpec
from dbdyno.study.spec import AS_WRITTEN, Overrides, read_study

HEAD = """
name = "mini"
title = "A small study"
question = "Is more more?"
repeats = 2
"""
BASE = """
[base]
workload = "select-only"
scale = 1
time = "1s"
warmup = "0s"
"""
CLIENTS = """
[[factor]]
name = "clients"
levels = [1, 2]
"""
MODES = """
[[factor]]
name = "mode"
title = "query mode"
[factor.levels.plain]
protocol = "simple"
[factor.levels.named]
protocol = "prepared"
set.jit = false
"""
MINI = HEAD + BASE + CLIENTS + MODES


def written(folder: Path, text: str = MINI) -> Path:
    path = folder / "mini.toml"
    path.write_text(text)
    return path


def read(
    folder: Path, text: str = MINI, size: Size = "tiny", overrides: Overrides = AS_WRITTEN
) -> StudySpec:
    return read_study(written(folder, text), size, overrides)
