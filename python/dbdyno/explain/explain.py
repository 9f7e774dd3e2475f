"""The explanation of a run: the outcome of every rule, with the findings put in order.

How severe a cause is, is decided by its rule. Here findings of the same cause are merged, and what
no finding accounts for is computed.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec import Struct

from dbdyno.analysis.budget import Budget
from dbdyno.explain.case import Case
from dbdyno.explain.failing import did_nothing
from dbdyno.explain.needs import LackingError
from dbdyno.explain.registry import all_rules, page_of
from dbdyno.explain.rule import SEVERITIES, CouldNotLook, Outcome, Rule, TimeKind
from dbdyno.model.record import Certainty, Finding, NotLooked
from dbdyno.model.recording import Histograms, Recording

_CERTAINTIES: tuple[Certainty, ...] = ("hint", "likely", "sure")
# Clients that had nothing to do, or were told to wait, need no explanation.
_ASKED_FOR: tuple[TimeKind, ...] = ("idle", "pause")
_MOST = 0.5
NOTHING_MEASURED = "nothing was measured"
NOTHING_DONE = (
    "nearly every transaction failed: what limits such a load says nothing about one that succeeds"
)


class Explanation(Struct, frozen=True):
    """Findings, the most important first; the rules that could not look; what remains.

    ``unexplained`` is the share of client time that no finding accounts for, None when
    it is not known where that time went.
    """

    findings: list[Finding]
    not_looked: list[NotLooked]
    unexplained: float | None


def explain(recording: Recording, histograms: Histograms) -> Explanation:
    """Asks every rule that is for this database.

    One that fails is a defect of ours, and takes no other with it.
    """
    case = Case(recording, histograms)
    rules = {name: rule for name, rule in all_rules().items() if rule.is_for(case.protocol)}
    outcomes = {name: _guarded(rule, case) for name, rule in rules.items()}
    findings = [found for found in outcomes.values() if isinstance(found, Finding)]
    shown = sorted(uncovered(findings, rules), key=_weight, reverse=True)
    return Explanation(
        findings=shown,
        not_looked=_not_looked(outcomes, rules),
        unexplained=unexplained(findings, rules, _budget(case)),
    )


def outcome(rule: Rule, case: Case) -> Outcome:
    """What the rule says of the run, complete; what it lacks is *could not look*.

    Of a run that ended before anything was measured no rule is asked: each would have a reason of
    its own for the same. Of one whose load did nothing none is asked what held it back.
    """
    if not case.record.duration_s:
        return CouldNotLook(NOTHING_MEASURED)
    if did_nothing(case) and not rule.tells_of_failures:
        return CouldNotLook(NOTHING_DONE)
    try:
        said = rule.look(case)
    except LackingError as lacking:
        return CouldNotLook(str(lacking))
    if not isinstance(said, Finding):
        return said
    return msgspec.structs.replace(
        said,
        id=rule.id,
        title=said.title or rule.title,
        wrong_when=said.wrong_when or page_of(rule).wrong_when,
    )


def _guarded(rule: Rule, case: Case) -> Outcome:
    try:
        return outcome(rule, case)
    except Exception as error:
        return CouldNotLook(f"internal error in this rule: {type(error).__name__}: {error}")


def _budget(case: Case) -> Budget | None:
    try:
        return case.budget
    except Exception:
        return None


def _not_looked(outcomes: Mapping[str, Outcome], rules: Mapping[str, Rule]) -> list[NotLooked]:
    return [
        NotLooked(id=name, title=rules[name].title, reason=said.reason)
        for name, said in outcomes.items()
        if isinstance(said, CouldNotLook)
    ]


def uncovered(findings: Sequence[Finding], rules: Mapping[str, Rule]) -> list[Finding]:
    """Without those whose cause another finding names more closely and takes as gravely.

    One that accounts for more than twice as much tells of something else as well, and stays; and
    no hint hides what is better known.
    """

    def hides(nearer: Finding, found: Finding) -> bool:
        return (
            found.id in rules[nearer.id].covers
            and _gravity(nearer) >= _gravity(found)
            and (nearer.certainty != "hint" or found.certainty == "hint")
            and _accounts_for_most(nearer, found)
        )

    return [found for found in findings if not any(hides(nearer, found) for nearer in findings)]


def _accounts_for_most(nearer: Finding, of: Finding) -> bool:
    """Taken for granted where their shares are not known, or not of the same."""
    if nearer.share is None or of.share is None or nearer.share_of != of.share_of:
        return True
    return nearer.share >= of.share * _MOST


def _gravity(finding: Finding) -> int:
    return SEVERITIES.index(finding.severity)


def _weight(finding: Finding) -> tuple[int, float, int]:
    """By severity, then share, then certainty."""
    return _gravity(finding), finding.share or 0.0, _CERTAINTIES.index(finding.certainty)


def unexplained(
    findings: Iterable[Finding], rules: Mapping[str, Rule], budget: Budget | None
) -> float | None:
    """The share of client time that no finding accounts for.

    Each finding takes its share from the kinds of time that its rule accounts for, the rules
    with the fewest kinds first, and no second of a client's is taken twice. What the clients
    were asked to wait is not in question.
    """
    if budget is None:
        return None
    left: dict[TimeKind, float] = {part.kind: budget.share(part.kind) for part in budget.parts}
    left["not_seen"] = max(budget.not_seen / budget.total, 0.0)
    in_question = 1.0 - sum(left.get(kind, 0.0) for kind in _ASKED_FOR)
    claims = [
        (rules[found.id].accounts_for, found.share)
        for found in findings
        if found.share is not None and found.share_of == "client time"
    ]
    taken = sum(_take(left, kinds, share) for kinds, share in sorted(claims, key=_kind_count))
    return min(max(in_question - taken, 0.0), 1.0)


def _kind_count(claim: tuple[frozenset[TimeKind], float]) -> int:
    return len(claim[0])


def _take(left: dict[TimeKind, float], kinds: frozenset[TimeKind], share: float) -> float:
    """Takes up to ``share`` from what is left of the kinds; how much was there."""
    wanted = share
    for kind in sorted(kinds & left.keys()):
        part = min(left[kind], wanted)
        left[kind] -= part
        wanted -= part
    return share - wanted
