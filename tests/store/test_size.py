"""How large a long run becomes, extrapolated from a short one of the same shape."""

import msgspec
import pytest

from dbdyno.store.writer import RunWriter
from tests.store import synthetic, watched

SECONDS = 80
EIGHT_HOURS_S = 28_800
WINDOW_S = EIGHT_HOURS_S // 720  # the engine stretches its windows to this
MIB = 2**20
LIMIT_BYTES = 150 * MIB
# What every folder holds once, whatever the run's length.
FIXED = {"run.json", "plan.json", "engine.json", "totals.parquet", "statement_texts.parquet"}


def frames(shape: synthetic.Shape) -> tuple[list[bytes], bytes]:
    """The frames during a run, with telemetry's after each interval; and the last frame."""
    *engine, done = synthetic.packed(shape)
    telemetry = list(watched.frames(SECONDS))
    a_second = len(telemetry) // SECONDS
    growing = []
    for frame in engine:
        growing.append(frame)
        if msgspec.msgpack.decode(frame)["kind"] == "interval":
            growing += telemetry[:a_second]
            del telemetry[:a_second]
    return growing + telemetry, done


@pytest.mark.parametrize("spread", [0.35, 1.0])  # idle, and contended as TPC-B at a low scale
def test_eight_hours_with_ten_statements_stay_below_150_mib(tmp_path, spread):
    """With basic telemetry; during the run, and once it is finished."""
    shape = synthetic.Shape(
        seconds=SECONDS, warmup=0, statements=10, tps=2000, spread=spread, window_s=WINDOW_S
    )
    growing, done = frames(shape)
    with RunWriter(synthetic.record(), synthetic.plan(), tmp_path) as writer:
        for frame in growing:
            writer.append_frame(frame)
        raw_bytes = (writer.folder / "frames.bin").stat().st_size
        writer.append_frame(done)
        synthetic.finish(writer, synthetic.record(status="done"))
    final_bytes = sum(
        path.stat().st_size for path in writer.folder.iterdir() if path.name not in FIXED
    )
    longer = EIGHT_HOURS_S / SECONDS
    assert raw_bytes * longer < LIMIT_BYTES
    assert final_bytes * longer < LIMIT_BYTES
