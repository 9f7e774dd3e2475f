"""An explanation as text for a terminal: short below a run, in full for ``explain``.

``layout.py`` wraps the lines; control characters are left out.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from dbdyno.explain.explain import NOTHING_MEASURED, Explanation
from dbdyno.explain.shares import MUCH, main_note, remainder_text, share_text
from dbdyno.layout import Line, Paragraph, visible
from dbdyno.model.record import Finding, RunRecord, UnevaluatedRule

_TOP = 3
_SEVERAL = 3
_NOTHING = "no finding above a note"


def summary_lines(record: RunRecord) -> list[Line]:
    """The most important findings of a run in short, and how many rules could not look.

    If none is above a note, the note that accounts for most of client time is shown.
    """
    if not record.duration_s:
        return [NOTHING_MEASURED]
    above = [finding for finding in record.findings if finding.severity != "note"]
    note = None if above else main_note(record.findings)
    lines = [line for finding in above[:_TOP] for line in _in_short(finding)]
    rest = len(record.findings) - len(above[:_TOP]) - (note is not None)
    unexplained = record.unexplained or 0.0
    return [
        *(lines or [_NOTHING]),
        *([_title_and_summary(note)] if note else []),
        *([_remainder(unexplained, record.unexplained_as)] if unexplained >= MUCH else []),
        *([f"{rest} more: dbdyno explain {record.run_id}"] if rest else []),
        *([_lacking(record.not_looked)] if record.not_looked else []),
    ]


def _lacking(not_looked: Sequence[UnevaluatedRule]) -> Line:
    """How many rules could not look, with the reason if it is the same for several."""
    [(reason, rules)] = Counter(rule.reason for rule in not_looked).most_common(1)
    text = _could_not_look(len(not_looked))
    if rules >= _SEVERAL:
        of = "" if rules == len(not_looked) else f", {rules} of them"
        text = f"{text}{of}: {reason}"
    return _flowing(text, hanging="  ")


def _in_short(finding: Finding) -> Iterator[Line]:
    yield _title_and_summary(finding)
    if finding.advice:
        yield _flowing(f"  try: {finding.advice[0]}", hanging="       ")


def _title_and_summary(finding: Finding) -> Line:
    return _flowing(f"{finding.severity}: {finding.title}. {finding.summary}", hanging="  ")


def _remainder(unexplained: float | None, parts: Mapping[str, float]) -> Line:
    return _flowing(remainder_text(unexplained, parts), hanging="  ")


def explanation_lines(explanation: Explanation, *, every: bool) -> list[Line]:
    """Every finding with evidence and advice, the unexplained rest, rules that could not look.

    Unless every detail is wanted, notes are in short, and the others without what is the same in
    every run: why such a cause matters, and when its rule is wrong.
    """
    notes = [] if every else [one for one in explanation.findings if one.severity == "note"]
    shown = [finding for finding in explanation.findings if finding not in notes]
    parts = [list(_in_full(finding, every=every)) for finding in shown]
    if notes:
        parts.append([_title_and_summary(note) for note in notes])
    parts = parts or [["No findings."]]
    parts.append([_remainder(explanation.unexplained, explanation.unexplained_as)])
    if explanation.not_looked:
        parts.append(list(_reasons(explanation.not_looked)))
    return [line for part in parts for line in [*part, ""]][:-1]


def _in_full(finding: Finding, *, every: bool) -> Iterator[Line]:
    known = f"[{finding.id}, {finding.certainty}]"
    yield _flowing(f"{finding.severity.upper()}  {finding.title}  {known}", hanging="  ")
    yield _flowing(f"  {finding.summary}", hanging="  ")
    for heading, texts in (
        ("evidence", finding.seen),
        ("why it matters", [finding.why] if every else []),
        ("accounts for", [share_text(finding)]),
        ("try", finding.advice),
        ("expected gain", [finding.gain]),
        ("refute", [finding.refute]),
        ("wrong when", [finding.wrong_when] if every else []),
    ):
        sentences = [sentence for sentence in texts if sentence]
        if len(sentences) == 1 and not every:
            yield _flowing(f"  {heading}: {sentences[0]}", hanging="    ")
        elif sentences:
            yield f"  {heading}"
            yield from _listed(sentences, indent="    ")


def _reasons(not_looked: Sequence[UnevaluatedRule]) -> Iterator[Line]:
    """Rules that could not look, by reason: one missing recording may stop several."""
    by_reason: dict[str, list[str]] = {}
    for rule in not_looked:
        by_reason.setdefault(rule.reason, []).append(rule.id)
    yield f"{_could_not_look(len(not_looked))}:"
    yield from _listed(f"{reason} ({', '.join(ids)})" for reason, ids in by_reason.items())


def _could_not_look(rules: int) -> str:
    return f"{rules} {'rule' if rules == 1 else 'rules'} could not look"


def _listed(sentences: Iterable[str], indent: str = "  ") -> Iterator[Line]:
    return (_flowing(f"{indent}- {sentence}", hanging=f"{indent}  ") for sentence in sentences)


def _flowing(text: str, hanging: str = "") -> Paragraph:
    return Paragraph(visible(text), hanging)
