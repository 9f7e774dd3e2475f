"""Generates the reference pages from the declarations in the code.

``python -m docs.reference`` writes them into ``docs/reference/``; they are built with the
manual and not kept in the repository. All descriptions come from the code; ``tests/docs`` fails
for anything without a description.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from cyclopts import App

from dbdyno.analysis.processor.subsystems import (
    CLASSES,
    LIBRARIES,
    MEANINGS,
    SLEEPING,
    TITLES,
    WAYS_IN,
)
from dbdyno.answers.answer import Answer
from dbdyno.answers.answering import all_answers
from dbdyno.cli.app import make_app
from dbdyno.cli.commands import COMMANDS
from dbdyno.cli.help import usage_of
from dbdyno.cli.output import Exit
from dbdyno.databases.adapters import all_adapters
from dbdyno.databases.known import all_databases
from dbdyno.explain.registry import all_rules, page_of
from dbdyno.explain.rule import Rule
from dbdyno.host.doctor import all_probes
from dbdyno.host.observed_host import HostSource, all_sources
from dbdyno.model.comparison import Comparison
from dbdyno.model.database import Subsystems
from dbdyno.model.record import RunRecord
from dbdyno.model.run import TABLES
from dbdyno.model.tables import Table
from dbdyno.peers.command_line import Option
from dbdyno.peers.pgbench.options import DIFFERENCES, OPTIONS
from dbdyno.peers.sysbench import options as sysbench_options
from dbdyno.store.query import Runs
from dbdyno.workloads.base import Workload
from dbdyno.workloads.registry import all_workloads
from docs.records import JsonObject, json_objects

# A table of contents, which repeats the list of subcommands.
OWN_CONTENTS = re.compile(r"## Table of Contents\n\n(?:- .*\n)+\n")

FOLDER = Path(__file__).parent / "reference"


def commands() -> str:
    """Every command with its options, defaults and examples."""
    app = make_app(COMMANDS)
    parts = ["# Commands", _exit_codes()]
    for name in COMMANDS:
        command = app[name]
        parts += _command(command, name)
        for below in (word for word in command if not word.startswith("-")):
            parts += _command(command[below], f"{name} {below}")
    return _page(parts)


def _command(command: App, name: str) -> list[str]:
    """One chapter: the generated help of a single command, under its full name."""
    depth = 2 + name.count(" ")
    command.usage = usage_of(name.split(), command)
    page = command.generate_docs(heading_level=depth, recursive=False)
    alone = page.split("\n### ")[0] if depth == 2 else page
    _, _, body = OWN_CONTENTS.sub("", alone).partition("\n")
    return [f"{'#' * depth} {name}", body, _code_block(_examples(command))]


def _exit_codes() -> str:
    rows = [(str(exit_code.value), exit_code.meaning) for exit_code in Exit]
    return _table(("exit code", "meaning"), rows)


def _examples(command: App) -> list[str]:
    return str(command.help_epilogue).removeprefix("Examples:").strip("\n").split("\n")


def _code_block(examples: Iterable[str]) -> str:
    return "\n".join(["Examples:", "", "```console", *examples, "```"])


def pgbench() -> str:
    """Every option of pgbench, what becomes of it, and what differs."""
    titles = {"": "In both modes", "init": "Initialization (-i)", "run": "Benchmark"}
    parts = [
        "# Options of pgbench",
        "What becomes of each option of [`dbdyno pgbench`](../pgbench.md): an option of "
        "`dbdyno run`, or what is named.",
    ]
    for mode, title in titles.items():
        own = [option for option in OPTIONS if option.mode == mode]
        parts += [f"## {title}", _peer_options(own)]
    return _page([*parts, *_differences(DIFFERENCES, OPTIONS)])


def sysbench() -> str:
    """Every general option of sysbench, what becomes of it, and what differs."""
    options = sysbench_options.OPTIONS
    parts = [
        "# Options of sysbench",
        "What becomes of each general option of [`dbdyno sysbench`](../sysbench.md): an option of "
        "`dbdyno run`, or what is named. A script's own options are the script's own.",
        _peer_options(options),
    ]
    return _page([*parts, *_differences(sysbench_options.DIFFERENCES, options)])


def _peer_options(options: Iterable[Option]) -> str:
    rows = [(f"`{option.written}`", option.meaning, option.becomes) for option in options]
    return _table(("option", "meaning", "here"), rows)


def _differences(of_others: Mapping[str, str], options: Iterable[Option]) -> list[str]:
    named = [(f"`{option.written}`", option.differs) for option in options if option.differs]
    rows = [*of_others.items(), *named]
    return ["## What differs", _table(("of", "what, and why"), rows)]


def workloads() -> str:
    """Every workload with its parameters, tables, conditions and scripts."""
    return _page(["# Workloads", *map(_workload, all_workloads().values())])


def _workload(workload: Workload) -> str:
    values = workload.complete({})
    parameters = [
        (f"`{p.name}`", p.default_text, p.range, p.description) for p in workload.parameters
    ]
    tables = [(f"`{table.name}`", f"{table.rows_expected:,}") for table in workload.tables(values)]
    conditions = [(one.id, one.claim) for one in workload.conditions]
    scripts = [
        f"```{script.language or 'sql'}\n{script.text.strip()}\n```"
        for script in workload.scripts(values, "postgresql")
    ]
    return "\n\n".join(
        [
            f"## {workload.name}",
            f"{workload.summary[0].upper()}{workload.summary[1:]}. _{workload.question}_",
            _table(("parameter", "default", "values", "meaning"), parameters),
            _table(("table", "rows at scale 1"), tables),
            *([_table(("condition", "its data"), conditions)] if conditions else []),
            "By default its clients run:",
            *scripts,
        ]
    )


def doctor() -> str:
    """Every check of the doctor."""
    rows = [(probe.title, probe.meaning) for probe in all_probes().values()]
    return _page(["# Checks of the doctor", _table(("check", "why it matters"), rows)])


def machine() -> str:
    """What telemetry reads on the host."""
    return _page(["# Telemetry sources on the host", *map(_source, all_sources().values())])


def _source(source: HostSource) -> str:
    watched = f"{source.watches[0].upper()}{source.watches[1:]}."
    rows = [
        ("objects", source.objects),
        ("counters", _names(source.counters)),
        ("levels", _names(source.levels)),
        ("read every", f"{source.every_s:g} s"),
        ("from", source.files),
    ]
    shown = [row for row in rows if row[1]]
    return "\n\n".join([f"## {source.name}", watched, _table(("", ""), shown)])


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


def recorded() -> str:
    """The tables of a run folder, as ``dbdyno sql`` offers them."""
    parts = [
        "# Tables of the runs",
        "`dbdyno sql` builds `runs` from the records of all runs; the other tables are in each "
        "run folder, and `dbdyno sql` adds the column `run_id`. Counts marked *so far* are "
        "cumulative in the files and in `open_run`. In `dbdyno sql` these columns have the value "
        "of each measurement interval, and `NAME_so_far` the cumulative one. Its table `buckets` "
        "unites `script_buckets`, `service_buckets` and `statement_buckets`.",
    ]
    all_tables: dict[str, type[Table]] = {"runs": Runs, **TABLES}
    for name, table in all_tables.items():
        rows = [
            (
                f"`{column}`",
                f"{its.kind.sql}, so far" if its.is_rising else its.kind.sql,
                its.meaning,
            )
            for column, its in zip(table.schema, table.declared.values(), strict=True)
        ]
        columns = _table(("column", "type", "meaning"), rows)
        parts.append(f"## {name}\n\n{table.meaning()}\n\n{columns}")
    return _page(parts)


def records() -> str:
    """What ``--json`` prints and ``run.json`` contains."""
    parts = [
        "# JSON objects",
        "`dbdyno run --json`, and for an earlier run `dbdyno report RUN --json`, print a "
        "[RunRecord](#runrecord), which is also `run.json` in the run folder. `dbdyno compare "
        "--json` prints a [Comparison](#comparison) and in addition `runs` (the IDs of each "
        "variant's runs), `paired` and `fail_if` (the outcome of each `--fail-if`). In place of "
        "its object, a command that fails prints `error`, an object of `code`, `message` and "
        "`hint`. Later versions may add fields.",
    ]
    return _page([*parts, *map(_json_object, json_objects([RunRecord, Comparison]))])


def _json_object(described: JsonObject) -> str:
    rows = [(f"`{field.name}`", field.type, field.meaning) for field in described.fields]
    table = _table(("field", "type", "meaning"), rows)
    return "\n\n".join([f"## {described.name}", described.summary, table])


def targets() -> str:
    """The databases that can be measured."""
    remark = {"documentation": "never run against a server here"}
    known = [
        (one.title, f"`{one.name}`", remark.get(one.known_from, ""))
        for one in all_databases().values()
    ]
    rows = [(f"`{name}`", target.title) for name, target in all_adapters().items()]
    return _page(
        [
            "# Databases",
            "A server is asked which of these it is.",
            _table(("database", "name in records", "remark"), known),
            "How each is reached, as records name it:",
            _table(("target", "database"), rows),
        ]
    )


def rules() -> str:
    """The rules that explain runs, each with its docstring."""
    return _page(["# Rules: what limits throughput", *map(_rule, all_rules().values())])


def _rule(rule: Rule) -> str:
    page = page_of(rule)
    parts = {
        "Looks for": page.looks_for,
        "Arithmetic": page.arithmetic,
        "Source": page.source,
        "Wrong when": page.wrong_when,
    }
    shown = [f"**{name}.** {text}" for name, text in parts.items()]
    return "\n\n".join([f"## {rule.id}", f"*{page.title}*", *shown])


def subsystems() -> str:
    """What the server's CPU time is grouped by, and the names that decide it."""
    known = [(TITLES[name], f"`{name}`", meaning) for name, meaning in MEANINGS.items()]
    classes = [(title, f"`{name}`") for name, title in CLASSES.items()]
    return _page(
        [
            "# Subsystems of a server",
            "A [profile](../telemetry.md) groups the functions of the server by what they are for, "
            "in the same words for every database. `run.json` and `--json` have the name.",
            _table(("subsystem", "name", "what for"), known),
            "The processes, or threads, that run them are of these kinds (`class` in the table "
            "[profile_counts](tables.md#profile_counts)):",
            _table(("processes", "name"), classes),
            "## How a function is assigned",
            "The beginning of its name decides, and of several the longest. `name(` is the whole "
            "name. `[libz.` is the beginning of the name of the file that the function is in; a "
            "file of the database's own list decides before any name does. `~name` is about "
            "functions without a name of their own that lie behind one whose name begins so.",
            *_own_subsystems(),
            "## Libraries",
            "They serve every database; its own list comes first, except for what is in these "
            "files.",
            _beginnings(LIBRARIES),
            "## The kernel",
            "The system call, fault or interrupt by which the process came into the kernel:",
            _beginnings(WAYS_IN),
            "But by the function that ran, whichever the way in:",
            _beginnings(SLEEPING),
        ]
    )


def _own_subsystems() -> Iterable[str]:
    """A chapter for each list, with all databases that share it."""
    titles: dict[int, list[str]] = {}
    lists = {id(one.subsystems): one.subsystems for one in all_databases().values()}
    for one in all_databases().values():
        titles.setdefault(id(one.subsystems), []).append(one.title)
    for number, its in lists.items():
        if its:
            yield f"## {', '.join(titles[number])}"
            yield _beginnings(its)


def _beginnings(of: Subsystems) -> str:
    rows = [(TITLES[name], _names(words.split())) for name, words in of.items()]
    return _table(("subsystem", "beginnings of names"), rows)


def answers() -> str:
    """What a study file may request under ``[[answers]]``."""
    parts = [
        "# Answers of studies",
        'A study file requests each answer by `[[answers]]` with `answer = "ID"` and its options '
        "in `[answers.options]`. `title` replaces its heading.",
    ]
    return _page([*parts, *map(_answer, all_answers().values())])


def _answer(answer: Answer) -> str:
    rows = [(f"`{name}`", meaning) for name, meaning in answer.options.items()]
    options = [_table(("option", "meaning"), rows)] if rows else []
    return "\n\n".join([f"## {answer.id}", f"{answer.title}.", *options])


PAGES: dict[str, Callable[[], str]] = {
    "answers": answers,
    "commands": commands,
    "databases": targets,
    "doctor": doctor,
    "machine": machine,
    "pgbench": pgbench,
    "records": records,
    "rules": rules,
    "subsystems": subsystems,
    "sysbench": sysbench,
    "tables": recorded,
    "workloads": workloads,
}


def _table(heading: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [heading, ("---",) * len(heading), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _page(parts: Iterable[str]) -> str:
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def main() -> None:
    """Writes all pages."""
    FOLDER.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        (FOLDER / f"{name}.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
