"""``dbdyno doctor``: the state of the host, what it means, and how to correct it."""

from collections.abc import Iterator

from dbdyno.cli.app import Json, command
from dbdyno.cli.output import Exit, print_json, print_lines
from dbdyno.host.doctor import Diagnosis, examine
from dbdyno.layout import Line, Paragraph

app = command(
    "doctor",
    "dbdyno doctor                     check this host before measuring",
    "dbdyno doctor --json              the same for a provisioning script",
)


@app.default
def doctor(*, json: Json = False) -> int:
    """Check this host for what distorts measurements or prevents them.

    Each line shows a check and its result: a note is worth knowing, a warning makes results
    unreliable, a problem keeps a feature of dbdyno from working. A remedy is shown where there
    is one. Changes nothing. Exits with 4 if there is a problem.
    """
    diagnoses = list(examine())
    if json:
        print_json({"diagnoses": diagnoses})
    else:
        print_lines(line for diagnosis in diagnoses for line in _lines(diagnosis))
    has_problem = any(diagnosis.level == "problem" for diagnosis in diagnoses)
    return Exit.VERDICT_FAILED if has_problem else Exit.OK


def _lines(diagnosis: Diagnosis) -> Iterator[Line]:
    indent = " " * 9
    yield Paragraph(f"{diagnosis.level:8} {diagnosis.title}: {diagnosis.found}", indent)
    if diagnosis.level != "ok":
        yield Paragraph(f"{indent}{diagnosis.meaning}", indent)
    if diagnosis.remedy:
        yield Paragraph(f"{indent}{diagnosis.remedy}", indent)
