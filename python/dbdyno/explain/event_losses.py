"""What events of one kind cost a run, as rules about events report it.

A loss is taken as real if few random placements of the events lose as much; an event that occurred
once is an anecdote: a hint, and minor at most. So are several that did not lose alike. Such a loss
is not given as a share of all lost throughput: the rest of that may be chance as well.
"""

from dbdyno.analysis.losses import CHANCE_MAX, Loss
from dbdyno.explain.case import Case
from dbdyno.explain.needs import losses_of
from dbdyno.explain.rule import NOTICED, at_most, severity_of
from dbdyno.formatting import count, percent
from dbdyno.model.record import Certainty, Severity


def loss_to(case: Case, kind: str) -> Loss | None:
    """The loss to events of this kind; None below the noise."""
    for loss in losses_of(case).by_kind:
        if loss.kind == kind and loss.of_run >= NOTICED and loss.p_value <= CHANCE_MAX:
            return loss
    return None


def certainty_of(loss: Loss) -> Certainty:
    """Repeats make it likely; the loss itself is one kind of evidence."""
    return "likely" if loss.occurrences > 1 and loss.low is not None and loss.low > 0 else "hint"


def severity_of_loss(loss: Loss) -> Severity:
    """A single event is never above minor: something else at the same time may be the cause."""
    grave = severity_of(loss.of_run)
    return at_most("minor", grave) if certainty_of(loss) == "hint" else grave


def loss_text(loss: Loss) -> str:
    """How much was lost, how often, and how likely by chance."""
    times = "once" if loss.occurrences == 1 else f"{loss.occurrences} times"
    share = share_of_losses(loss)
    of_all = "" if share is None else f", {percent(share)} of all lost throughput"
    return (
        f"It happened {times} and cost {count(loss.transactions)} transactions: "
        f"{percent(loss.of_run)} of what the run could have done{of_all}. At random times, "
        f"{percent(loss.p_value)} of trials lose as much."
    )


def share_of_losses(loss: Loss) -> float | None:
    """The share of all lost throughput; None if repeats do not show that each event costs some."""
    return None if certainty_of(loss) == "hint" else loss.share


def loss_evidence(loss: Loss) -> dict[str, float | int | None]:
    """The numbers of a loss, as findings store them."""
    return {
        "occurrences": loss.occurrences,
        "transactions_lost": loss.transactions,
        "share_of_run": loss.of_run,
        "share_of_loss": share_of_losses(loss),
        "chance": loss.p_value,
    }
