"""How large a long run becomes, extrapolated from a short one of the same shape."""

import pytest

from dbdyno.store import RunWriter
from tests.store import synthetic, watched

SECONDS = 80
EIGHT_HOURS_S = 28_800
WINDOW_S = EIGHT_HOURS_S // 720  # what the engine stretches its windows to
MIB = 2**20
LIMIT_BYTES = 150 * MIB
# What every folder holds once, whatever its length, does not grow with the run.
FIXED = {"run.json", "plan.json", "engine.json", "totals.parquet", "statement_texts.parquet"}


@pytest.mark.parametrize(
    ("spread", "while_running_mib"),
    [(0.35, 150), (1.0, 180)],  # idle, and contended as TPC-B at a low scale
)
def test_eight_hours_with_ten_statements_stay_below_150_mib(tmp_path, spread, while_running_mib):
    """With basic telemetry; the frames of a contended run are larger while they are raw."""
    shape = synthetic.Shape(
        seconds=SECONDS, warmup=0, statements=10, tps=2000, spread=spread, window_s=WINDOW_S
    )
    with RunWriter(synthetic.record(), synthetic.plan(), tmp_path) as writer:
        for frame in [*synthetic.packed(shape), *watched.frames(SECONDS)]:
            writer.append_frame(frame)
        raw_bytes = (writer.folder / "frames.bin").stat().st_size
        writer.finish(synthetic.record(status="done"))
    final_bytes = sum(
        path.stat().st_size for path in writer.folder.iterdir() if path.name not in FIXED
    )
    longer = EIGHT_HOURS_S / SECONDS
    assert raw_bytes * longer < while_running_mib * MIB
    assert final_bytes * longer < LIMIT_BYTES
