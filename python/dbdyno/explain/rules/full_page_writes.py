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

from msgspec import Struct

from dbdyno.analysis.checkpoints import CheckpointEffect, checkpoint_effects
from dbdyno.analysis.costs import cost
from dbdyno.analysis.image_time import ImageTime, image_time
from dbdyno.analysis.losses import Loss
from dbdyno.analysis.protocol import POSTGRESQL
from dbdyno.explain.case import Case
from dbdyno.explain.event_losses import loss_evidence, loss_text, loss_to
from dbdyno.explain.needs import because, client_time, needed
from dbdyno.explain.rule import NOTICED, NotFound, Outcome, Rule, at_most, found, severity_of
from dbdyno.explain.sentences import amount, gain_text
from dbdyno.explain.statements import WORKING
from dbdyno.formatting import count, percent, significant, size
from dbdyno.model.record import Certainty, Finding

MANY = 0.2
_AGREES = (0.5, 2.0)


class _Images(Struct, frozen=True, kw_only=True):
    """What images cost, and how each number is known."""

    per_transaction: float
    of_wal: float
    wal_bytes: float
    checkpoints: list[CheckpointEffect]
    wal_time: float
    """Share of client time: the images' part of the WAL waits, at most."""
    with_images: ImageTime | None
    loss: Loss | None

    @property
    def counted(self) -> float:
        """Images since the first checkpoint of the run."""
        return sum(one.images or 0.0 for one in self.checkpoints)

    @property
    def expected(self) -> float:
        """First changes of pages expected in the same time."""
        return sum(one.first_changes or 0.0 for one in self.checkpoints)

    @property
    def wal_around(self) -> tuple[float, float] | None:
        """Mean WAL bytes per transaction in the seconds before a checkpoint began and after."""
        pairs = [
            (one.bytes_before, one.bytes_after)
            for one in self.checkpoints
            if one.bytes_before is not None and one.bytes_after is not None
        ]
        if not pairs:
            return None
        before, after = zip(*pairs, strict=True)
        return mean(before), mean(after)

    @property
    def share(self) -> float:
        """Share of client time: the time that varies with images, else the bound."""
        if self.with_images is not None and self.with_images.low > 0:
            return min(self.with_images.share, 1.0)
        return self.wal_time

    @property
    def agrees(self) -> bool:
        """Whether the number of images counted is about the number expected."""
        return _AGREES[0] * self.expected < self.counted < _AGREES[1] * self.expected


def look(case: Case) -> Outcome:
    """Judged by the share of the WAL first: few images cannot cost much."""
    images = _images(case)
    if images.of_wal < MANY:
        return NotFound(f"{percent(images.of_wal)} of the WAL was full-page images")
    lost = images.loss.of_run if images.loss else 0.0
    if max(images.share, lost) < NOTICED and not images.checkpoints:
        client_time(case)  # without it their cost is not visible
        return NotFound("the pages were first changed in the run, at no measurable cost")
    return _finding(case, images, max(images.share, lost))


def _images(case: Case) -> _Images:
    wal_bytes = needed(cost(case.costs, "wal_bytes"), "the WAL was not read for any whole interval")
    missing = "the share of full-page images in the WAL is not reported"
    image_bytes = needed(
        cost(case.costs, "wal_full_page_bytes"), because(case, missing, "pg_stat_wal")
    )
    of_wal = image_bytes / max(wal_bytes, 1.0)
    effects = checkpoint_effects(case.recording)
    return _Images(
        per_transaction=cost(case.costs, "full_page_images") or 0.0,
        of_wal=of_wal,
        wal_bytes=wal_bytes,
        checkpoints=effects,
        wal_time=of_wal * case.budget.charged("wal") if case.budget else 0.0,
        with_images=image_time(case.recording),
        loss=loss_to(case, "checkpoint") if case.losses else None,
    )


def _finding(case: Case, images: _Images, gravest: float) -> Finding:
    certainty, grave = _certainty(images), severity_of(gravest)
    again = f"{percent(images.of_wal)} of the WAL is full-page images"
    when = (
        f"after {amount(len(images.checkpoints), 'checkpoint', 'checkpoints')}"
        if images.checkpoints
        else "after the checkpoint before the run"
    )
    return found(
        f"{again}, written when a page is first changed {when}: "
        f"{size(images.of_wal * images.wal_bytes)} of {size(images.wal_bytes)} per transaction.",
        share=None if certainty == "hint" else images.share,
        share_of="" if certainty == "hint" else "client time",
        severity=at_most("minor", grave) if certainty == "hint" else grave,
        certainty=certainty,
        evidence=_evidence(images),
        seen=_seen(images),
        why="Each image adds up to 8 KiB to a commit's flush, to archives and to replicas, all "
        "at once after every checkpoint.",
        advice=[
            "Make checkpoints less frequent: raise checkpoint_timeout, and max_wal_size so that it "
            "is not reached before; each page is then logged whole less often.",
            "Make images smaller: wal_compression = lz4 (before version 15: on), at the cost of "
            "some CPU time.",
            "Set full_page_writes = off only where the storage never tears an 8 KiB page.",
        ],
        gain=gain_text(case, images.share),
        refute="Run twice in a row with checkpoint_timeout longer than both runs and max_wal_size "
        "above the WAL that they write: images must fade and throughput must rise.",
    )


def _certainty(images: _Images) -> Certainty:
    is_timed = images.loss is not None or (
        images.with_images is not None and images.with_images.low > 0
    )
    if is_timed and images.agrees:
        return "sure"
    return "likely" if is_timed or images.agrees else "hint"


def _seen(images: _Images) -> list[str]:
    lines = [f"{significant(images.per_transaction)} images per transaction."]
    if images.expected:
        lines.append(
            f"{count(images.counted)} images since the first checkpoint of the run; "
            f"{count(images.expected)} first changes of a page were expected."
        )
    if images.wal_around:
        before, after = images.wal_around
        lines.append(
            f"WAL per transaction: {size(before)} in the last 10 s or less before a checkpoint "
            f"started, {size(after)} in the same time after."
        )
    timed = images.with_images
    if timed is not None and timed.low > 0:
        lines.append(
            f"{percent(timed.share)} of client time ({percent(timed.low)} to "
            f"{percent(timed.high)}) rises and falls with the number of images."
        )
    if images.wal_time:
        lines.append(
            f"By their share of the WAL, at most {percent(images.wal_time)} of client time is "
            "spent writing and flushing them."
        )
    return [*lines, *([loss_text(images.loss)] if images.loss else [])]


def _evidence(images: _Images) -> dict[str, float | int | None]:
    known: dict[str, float | int | None] = {
        "images_per_transaction": images.per_transaction,
        "share_of_wal": images.of_wal,
        "wal_bytes_per_transaction": images.wal_bytes,
        "checkpoints": len(images.checkpoints),
        "images_counted": images.counted,
        "first_touches_expected": images.expected,
        "share_of_client_time_in_wal": images.wal_time,
    }
    return known | (loss_evidence(images.loss) if images.loss else {})


RULE = Rule(
    id="full_page_writes",
    title="Full-page writes after checkpoints",
    look=look,
    covers=frozenset({"checkpoint_io", "no_checkpoint_cycle", "wal_write"}),
    accounts_for=WORKING,
    protocols=frozenset({POSTGRESQL}),
)
