"""``dbdyno doctor``: the machine's state, what it means, and how to mend it."""

from dbdyno.cli.app import command
from dbdyno.cli.output import Exit, Json, print_json, print_result
from dbdyno.host.doctor import Diagnosis, examine

app = command("doctor", "dbdyno doctor                     before a measurement that matters")


@app.default
def doctor(*, json: Json = False) -> int:
    """Look for what stands in the way of good numbers on this machine.

    Changes nothing. Exits with 4 when something that dbdyno offers will not work here.
    """
    diagnoses = list(examine())
    if json:
        print_json({"diagnoses": diagnoses})
    else:
        print_result("\n".join(_told(diagnosis) for diagnosis in diagnoses))
    broken = any(diagnosis.level == "problem" for diagnosis in diagnoses)
    return Exit.VERDICT_FAILED if broken else Exit.OK


def _told(diagnosis: Diagnosis) -> str:
    lines = [f"{diagnosis.level:8} {diagnosis.title}: {diagnosis.found}"]
    if diagnosis.level != "ok":
        lines.append(f"         {diagnosis.meaning}")
    if diagnosis.mend:
        lines.append(f"         {diagnosis.mend}")
    return "\n".join(lines)
