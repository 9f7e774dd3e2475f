"""What events of one kind cost a run, as rules about events report it.

A loss is taken as real if few random placements of the events lose as much; an event that occurred
once is an anecdote: a hint, and minor at most. So are several that did not lose alike. Such a loss
is not given as a share of all lost throughput: the rest of that may be chance as well.
"""

from dbdyno.analysis.events.losses import CHANCE_MAX, Loss
from dbdyno.explain.gains import Gains
from dbdyno.explain.needs import losses_of
from dbdyno.explain.rule import NOTICED, Aside, Claim, Evidence, at_most, severity_of
from dbdyno.formatting import count, percent
from dbdyno.model.record import Certainty, Severity, ShareOf
from dbdyno.model.run import Run


def loss_to(run: Run, kind: str) -> Loss | None:
    """The loss to events of this kind; None below the noise."""
    for loss in losses_of(run).by_kind:
        if loss.kind == kind and loss.of_run >= NOTICED and loss.p_value <= CHANCE_MAX:
            return loss
    return None


class LossNumbers(Evidence, frozen=True, kw_only=True):
    """What the events of one kind cost."""

    occurrences: int
    transactions_lost: float
    share_of_run: float
    share_of_loss: float | None
    """None if repeats do not show that each event costs some."""
    chance: float
    """The part of random placements that lose as much."""

    @property
    def text(self) -> str:
        """How much was lost, how often, and how likely by chance."""
        times = "once" if self.occurrences == 1 else f"{self.occurrences} times"
        share = self.share_of_loss
        of_all = "" if share is None else f", {percent(share)} of all lost throughput"
        return (
            f"It happened {times} and cost {count(self.transactions_lost)} transactions: "
            f"{percent(self.share_of_run)} of what the run could have done{of_all}. At random "
            f"times, {percent(self.chance)} of trials lose as much."
        )


def numbers_of(loss: Loss) -> LossNumbers:
    """The numbers of a loss, as findings store them."""
    are_alike = loss.occurrences > 1 and loss.low is not None and loss.low > 0
    return LossNumbers(
        occurrences=loss.occurrences,
        transactions_lost=loss.transactions,
        share_of_run=loss.of_run,
        share_of_loss=loss.share if are_alike else None,
        chance=loss.p_value,
    )


class LossClaim(Claim, frozen=True, kw_only=True):
    """Events of one kind cost throughput; the claim's share is that of all lost throughput."""

    loss: LossNumbers
    gains: Aside[Gains] = Gains()

    @property
    def share_of(self) -> ShareOf:
        """Nothing if repeats do not show that each event costs some."""
        return "" if self.share is None else "lost throughput"

    @property
    def severity(self) -> Severity:
        """A single event is never above minor: something else at the same time may be the cause."""
        grave = severity_of(self.loss.share_of_run)
        return grave if self.certainty == "likely" else at_most("minor", grave)

    @property
    def certainty(self) -> Certainty:
        """Repeats make it likely; the loss itself is one kind of evidence."""
        return "hint" if self.loss.share_of_loss is None else "likely"

    @property
    def gain(self) -> str:
        """Of all throughput."""
        return self.gains.text(self.loss.share_of_run)
