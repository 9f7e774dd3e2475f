"""Full-page writes: after a checkpoint, the first change of a page logs the whole page.

Looks for: WAL of which a large part is full-page images, and what they cost: client time that rises
and falls with them, time spent writing and flushing WAL, throughput lost around checkpoints.

Arithmetic: if a transaction takes a of client time and an image b more, least squares over
intervals with many and with few images gives both. Of the client time in WAL waits (lock waits
charged to their roots) images take at most their share of the bytes; where there is no other
evidence, that is a bound, and no share is claimed. The first change of a page after a checkpoint
logs the page: u uniform updates of P pages change P·(1 − (1 − 1/P)^u) of them for the first time,
and an image count that agrees with this is evidence of its own.

Source: PostgreSQL manual, full_page_writes and WAL configuration; the law is that of distinct cells
in the occupancy problem (Feller, Introduction to Probability Theory I, IV.2).

Wrong when: flushes cost by their number rather than their size; fewer images then save less time
than their share. A run shorter than the time between checkpoints sees the first changes after the
checkpoint before it, and so more images than a long run.
"""

from statistics import mean
from typing import ClassVar

from msgspec.structs import replace

from dbdyno.analysis.costs.costs import cost, costs
from dbdyno.analysis.events.checkpoints import CheckpointEffect, checkpoint_effects
from dbdyno.analysis.events.losses import losses
from dbdyno.analysis.events.wal import ImageTime, image_time
from dbdyno.analysis.waits.budget import known_budget
from dbdyno.explain.gains import LimitClaim, gains_in
from dbdyno.explain.needs import because, client_time, needed
from dbdyno.explain.resources.event_losses import LossNumbers, loss_to, numbers_of
from dbdyno.explain.rule import NOTICED, Aside, NotFound, Rule, at_most, severity_of
from dbdyno.explain.sentences import amount
from dbdyno.explain.statements.statements import WORKING
from dbdyno.formatting import count, percent, significant, size
from dbdyno.model.counters import PgWal
from dbdyno.model.record import Certainty, Severity
from dbdyno.model.run import Run

MANY = 0.2
_AGREES = (0.5, 2.0)


class FullPageWrites(LimitClaim, frozen=True, kw_only=True):
    """What full-page images cost, and how each number is known."""

    images_per_transaction: float
    share_of_wal: float
    wal_bytes_per_transaction: float
    checkpoints: int
    images_counted: float
    """Since the first checkpoint of the run."""
    first_touches_expected: float
    """In the same time."""
    share_of_client_time_in_wal: float
    """The images' part of the WAL waits, at most."""
    wal_around: Aside[tuple[float, float] | None] = None
    """Mean WAL bytes per transaction in the seconds before a checkpoint began and after."""
    time: Aside[ImageTime | None] = None
    """The time that varies with images."""
    loss: Aside[LossNumbers | None] = None
    """What checkpoints cost."""

    @property
    def evidence(self) -> dict[str, object]:
        return super().evidence | (self.loss.evidence if self.loss else {})

    @property
    def is_timed(self) -> bool:
        """Whether some time or throughput is known to be lost to them."""
        return self.loss is not None or (self.time is not None and self.time.low > 0)

    @property
    def of_client_time(self) -> float:
        """The time that varies with images, else the bound."""
        if self.time is not None and self.time.low > 0:
            return min(self.time.share, 1.0)
        return self.share_of_client_time_in_wal

    @property
    def gravest(self) -> float:
        """The largest of the shares of time and throughput."""
        return max(self.of_client_time, self.loss.share_of_run if self.loss else 0.0)

    @property
    def agrees(self) -> bool:
        """Whether the number of images counted is about the number expected."""
        low, high = (factor * self.first_touches_expected for factor in _AGREES)
        return low < self.images_counted < high

    @property
    def certainty(self) -> Certainty:
        if self.is_timed and self.agrees:
            return "sure"
        return "likely" if self.is_timed or self.agrees else "hint"

    @property
    def severity(self) -> Severity:
        grave = severity_of(self.gravest)
        return at_most("minor", grave) if self.certainty == "hint" else grave

    @property
    def summary(self) -> str:
        when = "after the checkpoint before the run"
        if self.checkpoints:
            when = f"after {amount(self.checkpoints, 'checkpoint', 'checkpoints')}"
        return (
            f"{percent(self.share_of_wal)} of the WAL is full-page images, written when a page is "
            f"first changed {when}: {size(self.share_of_wal * self.wal_bytes_per_transaction)} of "
            f"{size(self.wal_bytes_per_transaction)} per transaction."
        )

    @property
    def seen(self) -> list[str]:
        lines = [f"{significant(self.images_per_transaction)} images per transaction."]
        if self.first_touches_expected:
            lines.append(
                f"{count(self.images_counted)} images since the first checkpoint of the run; "
                f"{count(self.first_touches_expected)} first changes of a page were expected."
            )
        if self.wal_around:
            before, after = self.wal_around
            lines.append(
                f"WAL per transaction: {size(before)} in the last 10 s or less before a checkpoint "
                f"started, {size(after)} in the same time after."
            )
        if self.time is not None and self.time.low > 0:
            lines.append(
                f"{percent(self.time.share)} of client time ({percent(self.time.low)} to "
                f"{percent(self.time.high)}) rises and falls with the number of images."
            )
        if self.share_of_client_time_in_wal:
            lines.append(
                f"By their share of the WAL, at most {percent(self.share_of_client_time_in_wal)} "
                "of client time is spent writing and flushing them."
            )
        return [*lines, *([self.loss.text] if self.loss else [])]

    why: ClassVar[str] = (
        "Each image adds up to 8 KiB to a commit's flush, to archives and to replicas, all at once "
        "after every checkpoint."
    )
    advice: ClassVar[list[str]] = [
        "Make checkpoints less frequent: raise checkpoint_timeout, and max_wal_size so that it is "
        "not reached before; each page is then logged whole less often.",
        "Make images smaller: wal_compression = lz4 (before version 15: on), at the cost of some "
        "CPU time.",
        "Set full_page_writes = off only where the storage never tears an 8 KiB page.",
    ]

    @property
    def gain(self) -> str:
        return self.gains.text(self.of_client_time)

    refute: ClassVar[str] = (
        "Run twice in a row with checkpoint_timeout longer than both runs and max_wal_size above "
        "the WAL that they write: images must fade and throughput must rise."
    )


def look(run: Run) -> FullPageWrites | NotFound:
    """Judged by the share of the WAL first: few images cannot cost much."""
    images = _images(run)
    if images.share_of_wal < MANY:
        return NotFound(f"{percent(images.share_of_wal)} of the WAL was full-page images")
    if images.gravest < NOTICED and not images.checkpoints:
        client_time(run)  # without it their cost is not visible
        return NotFound("the pages were first changed in the run, at no measurable cost")
    return images if images.certainty == "hint" else replace(images, share=images.of_client_time)


def _images(run: Run) -> FullPageWrites:
    wal_bytes = needed(cost(costs(run), "wal_bytes"), "the WAL was not read for any whole interval")
    missing = "the share of full-page images in the WAL is not reported"
    image_bytes = needed(
        cost(costs(run), "wal_full_page_bytes"), because(run, missing, PgWal.source)
    )
    of_wal = image_bytes / max(wal_bytes, 1.0)
    effects, spent = checkpoint_effects(run), known_budget(run)
    lost = loss_to(run, "checkpoint") if losses(run) else None
    return FullPageWrites(
        images_per_transaction=cost(costs(run), "full_page_images") or 0.0,
        share_of_wal=of_wal,
        wal_bytes_per_transaction=wal_bytes,
        checkpoints=len(effects),
        images_counted=sum(one.images or 0.0 for one in effects),
        first_touches_expected=sum(one.first_changes or 0.0 for one in effects),
        share_of_client_time_in_wal=of_wal * spent.charged("wal") if spent else 0.0,
        wal_around=_wal_around(effects),
        time=image_time(run),
        loss=numbers_of(lost) if lost else None,
        gains=gains_in(run),
    )


def _wal_around(checkpoints: list[CheckpointEffect]) -> tuple[float, float] | None:
    pairs = [
        (one.bytes_before, one.bytes_after)
        for one in checkpoints
        if one.bytes_before is not None and one.bytes_after is not None
    ]
    if not pairs:
        return None
    before, after = zip(*pairs, strict=True)
    return mean(before), mean(after)


RULE = Rule(
    id="full_page_writes",
    title="Full-page writes after checkpoints",
    look=look,
    accounts_for=WORKING,
    needs=frozenset({"full_page_images"}),
    events=frozenset({"checkpoint"}),
)
