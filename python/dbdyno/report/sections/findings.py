"""What limits the run: findings, the unexplained rest, and the rules that could not look."""

from collections.abc import Iterator, Sequence

from dbdyno.explain.shares import remainder_text
from dbdyno.formatting import counted
from dbdyno.model.record import Finding, RunRecord, UnevaluatedRule
from dbdyno.report.content import Block, Claim, Folded, Section, Subject, Table, Text
from dbdyno.report.findings import bearing, clean_text, is_grave


def build(subject: Subject) -> Sequence[Block]:
    """Nothing for a run that was never explained, such as one of an older version."""
    record = subject.record
    if not (record.findings or record.not_looked or record.unexplained is not None):
        return []
    return list(_blocks(record))


def _blocks(record: RunRecord) -> Iterator[Block]:
    grave = [finding for finding in record.findings if is_grave(finding)]
    notes = [finding for finding in record.findings if not is_grave(finding)]
    yield from map(_claim, grave)
    if not grave:
        yield Text(text=clean_text(record))
    yield Text(text=remainder_text(record.unexplained, record.unexplained_as))
    if notes:
        yield Folded(title=counted(len(notes), "note"), blocks=[_claim(note) for note in notes])
    if record.not_looked:
        title = f"{counted(len(record.not_looked), 'rule')} could not look"
        yield Folded(title=title, blocks=[_unevaluated(record.not_looked)])


def _claim(finding: Finding) -> Claim:
    first, *others = finding.advice or [""]
    rest = (
        ("Evidence", finding.seen),
        ("Why it matters", [finding.why]),
        ("What else to try", others),
        ("Expected gain", [finding.gain]),
        ("What would refute it", [finding.refute]),
        ("When this is wrong", [finding.wrong_when]),
    )
    return Claim(
        id=finding.id,
        severity=finding.severity,
        title=finding.title,
        summary=finding.summary,
        bearing=bearing(finding),
        advice=first,
        rest=[(heading, sentences) for heading, sentences in rest if any(sentences)],
        code=_scripts(finding),
    )


def _scripts(finding: Finding) -> list[tuple[str, str]]:
    """The scripts that a finding proposes instead of the run's."""
    proposed = finding.evidence.get("scripts", {})
    return [(f"{name}, as advised", text) for name, text in proposed.items()]


def _unevaluated(rules: Sequence[UnevaluatedRule]) -> Table:
    return Table(
        caption="Rules that could not look",
        columns=("Rule", "Why"),
        rows=[(rule.title, rule.reason) for rule in rules],
    )


SECTION = Section(id="findings", title="What limits throughput", order=5, build=build)
