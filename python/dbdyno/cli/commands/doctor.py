"""``dbdyno doctor``: the state of the host, what it means, and how to correct it."""

from collections.abc import Iterator
from typing import Annotated

from dbdyno.cli.app import Json, command
from dbdyno.cli.output import Exit, print_json, print_lines
from dbdyno.databases.connecting import inspecting, intermediaries
from dbdyno.databases.intermediary import refuse_unusable
from dbdyno.errors import DbdynoError
from dbdyno.host.doctor import Diagnosis, Level, examine
from dbdyno.layout import Line, Paragraph
from dbdyno.run.options.parameters import TARGET, flag
from dbdyno.run.options.run_options import BETWEEN_TARGETS

WAY_MEANING = (
    "Response times include what a pooler or proxy takes. A pooler lends the server's sessions: "
    "which of them works for which client, and what clients wait for there, is then not known."
)

app = command(
    "doctor",
    "dbdyno doctor                     check this host before measuring",
    "dbdyno doctor --target postgresql://db/bench",
    "dbdyno doctor --json              the same for a provisioning script",
)


@app.default
def doctor(
    *,
    target: Annotated[str | None, flag("--target", group=TARGET, metavar="URL")] = None,
    json: Json = False,
) -> int:
    """Check this host, and the way to a server, for what distorts measurements or prevents them.

    Each line shows a check and its result: a note is worth knowing, a warning makes results
    unreliable, a problem keeps a feature of dbdyno from working. A remedy is shown where there
    is one. Changes nothing. Exits with 4 if there is a problem.

    Parameters
    ----------
    target
        Also checks whether this server answers, and what is in front of it: a pooler or a proxy.
    """
    diagnoses = list(examine())
    if target is not None:
        targets = BETWEEN_TARGETS.split(target)
        for number, one in enumerate(targets):
            diagnoses.append(_way_to(one, f"server {number}" if len(targets) > 1 else "the server"))
    if json:
        print_json({"diagnoses": diagnoses})
    else:
        print_lines(line for diagnosis in diagnoses for line in _lines(diagnosis))
    has_problem = any(diagnosis.level == "problem" for diagnosis in diagnoses)
    return Exit.VERDICT_FAILED if has_problem else Exit.OK


def _way_to(target: str, called: str) -> Diagnosis:
    """Examine the connection to a server, whose address is not repeated: it may have a password."""
    level: Level = "ok"
    remedy = ""
    try:
        with inspecting(target) as (driver, connection):
            endpoint, pinned = driver.endpoint_of(connection), driver.pinned(target, connection)
            says = driver.says(connection)
            between = intermediaries(pinned, connection, endpoint, ())
        found = f"{says}; nothing shows in front of it"
        if between:
            level = "note"
            found = "; ".join(f"{one.title} ({', '.join(one.seen)})" for one in between)
        refuse_unusable(between, prepares=False)
        try:
            refuse_unusable(between, prepares=True)
        except DbdynoError as error:
            level, remedy = "warning", error.hint
    except DbdynoError as error:
        level, found, remedy = "problem", error.message, error.hint
    return Diagnosis(
        name="server",
        title=f"way to {called}",
        level=level,
        found=found,
        meaning=WAY_MEANING,
        remedy=remedy,
    )


def _lines(diagnosis: Diagnosis) -> Iterator[Line]:
    indent = " " * 9
    yield Paragraph(f"{diagnosis.level:8} {diagnosis.title}: {diagnosis.found}", indent)
    if diagnosis.level != "ok":
        yield Paragraph(f"{indent}{diagnosis.meaning}", indent)
    if diagnosis.remedy:
        yield Paragraph(f"{indent}{diagnosis.remedy}", indent)
