"""Texts on studies for the terminal: the list, one study's description, and where its time went."""

from pathlib import Path

from dbdyno.answers.registry import all_answers
from dbdyno.layout import Line, Paragraph
from dbdyno.model.study import Factor, Question, StudyRecord, StudySpec
from dbdyno.study.feasibility import span
from dbdyno.study.file import SIZES
from dbdyno.study.spec import TITLE


def made_row(record: StudyRecord) -> tuple[str, ...]:
    """Return the table row of a study that was run."""
    turns = f"{len(record.results)} of {len(record.turns)}"
    return (record.study_id, record.status, record.spec.size, turns)


def spec_lines(spec: StudySpec, path: Path) -> list[Line]:
    """Describe what a study asks and varies."""
    lines = [
        f"{spec.title}  ({path})",
        spec.question,
        "",
        f"size {spec.size} of {', '.join(SIZES)}; {spec.repeats} repeats in randomized blocks; "
        f"cache {spec.cache}; data restored {spec.restore}",
        *(_factor_text(factor) for factor in spec.factors),
        *(f"left out: {_excluded_text(excluded)}" for excluded in spec.excluded),
        *(f"compared: {c.factor}, {c.before} against {c.after}" for c in spec.contrasts),
        f"measured: {', '.join(spec.metrics)}",
        *(f"answered: {_answer_text(question)}" for question in spec.answers),
        *(f"published: {one.title} ({one.source})" for one in spec.published),
    ]
    return [Paragraph(line, "  ") for line in lines]


def time_summary(record: StudyRecord) -> str:
    """Describe how the time of all turns was spent."""
    spent = [result.spent for result in record.results]
    prepare_s, run_s, other_s = (
        sum(getattr(one, part) for one in spent) for part in ("prepare_s", "run_s", "other_s")
    )
    share = other_s / max(prepare_s + run_s + other_s, 1e-9)
    failed = sum(result.status != "done" for result in record.results)
    lost = f"; {failed} of {len(spent)} turns do not count" if failed else ""
    return (
        f"prepare {span(prepare_s)}, runs {span(run_s)}, other {span(other_s)} ({share:.1%}){lost}"
    )


def _factor_text(factor: Factor) -> str:
    unit = f" {factor.unit}" if factor.unit else ""
    return f"varied: {factor.title}: {', '.join(level.name for level in factor.levels)}{unit}"


def _answer_text(question: Question) -> str:
    """Return the report's title of the answer, followed by its name in the file."""
    title = question.options.get(TITLE) or all_answers()[question.answer].title
    return f"{title}  ({question.answer})"


def _excluded_text(excluded: dict[str, tuple[str, ...]]) -> str:
    return " with ".join(f"{name} {', '.join(levels)}" for name, levels in excluded.items())
