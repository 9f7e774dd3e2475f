"""What limits the run: findings, the unexplained rest, and the rules that could not look."""

from collections.abc import Sequence

from dbdyno.explain.explain import explained_record
from dbdyno.explain.shares import main_note, remainder_text, share_text
from dbdyno.formatting import counted
from dbdyno.model.record import Finding, RunRecord
from dbdyno.model.run import Run
from dbdyno.report.content import Block, FindingBlock, Folded, Section, Table, Text
from dbdyno.report.places import places

_CERTAINTY = {
    "sure": "sure: two kinds of evidence agree",
    "likely": "likely: one kind of evidence",
    "hint": "a hint",
}


def build(run: Run) -> Sequence[Block]:
    """Nothing for a run that was never explained, such as one of an older version."""
    record = explained_record(run)
    if not (record.findings or record.not_looked or record.unexplained is not None):
        return []
    notes = [_block(run, finding) for finding in record.findings if not is_grave(finding)]
    blocks: list[Block] = [_block(run, one) for one in record.findings if is_grave(one)]
    blocks = blocks or [Text(text=clean_text(record))]
    blocks.append(Text(text=remainder_text(record.unexplained, record.unexplained_as)))
    if notes:
        blocks.append(Folded(title=counted(len(notes), "note"), blocks=notes))
    if record.not_looked:
        table = Table(
            caption="Rules that could not look",
            columns=("Rule", "Why"),
            rows=[(rule.title, rule.reason) for rule in record.not_looked],
        )
        title = f"{counted(len(record.not_looked), 'rule')} could not look"
        blocks.append(Folded(title=title, blocks=[table]))
    return blocks


def _block(run: Run, finding: Finding) -> FindingBlock:
    first, *others = finding.advice or [""]
    proposed = finding.evidence.get("scripts", {})  # instead of the run's
    rest = (
        ("Evidence", finding.seen),
        ("Why it matters", [finding.why]),
        ("What else to try", others),
        ("Expected gain", [finding.gain]),
        ("What would refute it", [finding.refute]),
        ("When this is wrong", [finding.wrong_when]),
    )
    return FindingBlock(
        id=finding.id,
        severity=finding.severity,
        title=finding.title,
        summary=finding.summary,
        bearing=bearing(finding),
        advice=first,
        rest=[(heading, sentences) for heading, sentences in rest if any(sentences)],
        code=[(f"{name}, as advised", text) for name, text in proposed.items()],
        places=places(run, finding),
    )


def is_grave(finding: Finding) -> bool:
    """Whether it reports a problem: everything but notes."""
    return finding.severity != "note"


def bearing(finding: Finding) -> str:
    """How much the cause accounts for, and how certain that is."""
    certainty = _CERTAINTY[finding.certainty]
    share = share_text(finding)
    return f"{share} · {certainty}" if share else certainty[0].upper() + certainty[1:]


def clean_text(record: RunRecord) -> str:
    """The sentence for a run without a grave finding."""
    if record.not_looked and record.unexplained is None:
        return "No finding above severity note, but some rules could not look."
    if note := main_note(record.findings):
        return f"No finding above severity note; the largest: {note.title}. {note.summary}"
    return "No finding above severity note: no rule sees a cause that limits this run."


SECTION = Section(id="findings", title="What limits throughput", build=build)
