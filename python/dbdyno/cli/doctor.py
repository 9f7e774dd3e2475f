"""``dbdyno doctor``: the machine's state, what it means, and how to mend it."""

from collections.abc import Iterator

from dbdyno.cli.app import command
from dbdyno.cli.output import Exit, Json, print_json, print_lines
from dbdyno.host.doctor import Diagnosis, examine
from dbdyno.layout import Line, Paragraph

app = command(
    "doctor",
    "dbdyno doctor                     before a measurement that matters",
    "dbdyno doctor --json              for a script that prepares machines",
)


@app.default
def doctor(*, json: Json = False) -> int:
    """Look for what stands in the way of good numbers on this machine.

    Each line says what was looked at and found; a note is worth knowing, a warning costs
    numbers their worth, a problem keeps something from working. What can be mended is told
    with how. Changes nothing. Exits with 4 when something that dbdyno offers will not work here.
    """
    diagnoses = list(examine())
    if json:
        print_json({"diagnoses": diagnoses})
    else:
        print_lines(line for diagnosis in diagnoses for line in _told(diagnosis))
    broken = any(diagnosis.level == "problem" for diagnosis in diagnoses)
    return Exit.VERDICT_FAILED if broken else Exit.OK


def _told(diagnosis: Diagnosis) -> Iterator[Line]:
    indent = " " * 9
    yield Paragraph(f"{diagnosis.level:8} {diagnosis.title}: {diagnosis.found}", indent)
    if diagnosis.level != "ok":
        yield Paragraph(f"{indent}{diagnosis.meaning}", indent)
    if diagnosis.mend:
        yield Paragraph(f"{indent}{diagnosis.mend}", indent)
