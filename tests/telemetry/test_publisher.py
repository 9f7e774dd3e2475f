"""What telemetry reports about itself, to a run folder that may be full."""

from collections.abc import Sequence

from dbdyno.store.errors import StoreError
from dbdyno.telemetry.publisher import FramePublisher


def refuse(_what: object) -> None:
    raise StoreError("disk_full", "no space left")


def test_a_log_that_takes_no_line_ends_no_thread_and_loses_no_frame() -> None:
    kept: list[bytes] = []

    def keep(frames: Sequence[bytes]) -> None:
        kept.extend(frames)

    publisher = FramePublisher(keep, refuse)
    publisher.begin()
    publisher.publish_lack("log", "it cannot be read")
    publisher.publish_lack("sessions", "they cannot be seen")
    assert len(kept) == 2


def test_a_folder_that_takes_no_frame_ends_no_thread() -> None:
    messages: list[str] = []
    publisher = FramePublisher(refuse, messages.append)
    publisher.begin()
    publisher.publish_lack("log", "it cannot be read")
    assert messages == ["telemetry: log: it cannot be read"]
