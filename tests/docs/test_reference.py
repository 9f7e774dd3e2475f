"""Every declaration in the code has a description, and the reference contains it."""

import json
import re
from pathlib import Path

import msgspec
import pytest

from dbdyno.analysis.doubts import DOUBTS
from dbdyno.analysis.processor.subsystems import (
    CLASSES,
    LIBRARIES,
    MEANINGS,
    SLEEPING,
    TITLES,
    WAYS_IN,
)
from dbdyno.answers.answering import all_answers
from dbdyno.cli.commands import COMMANDS
from dbdyno.cli.output import Exit
from dbdyno.databases.adapters import all_adapters
from dbdyno.databases.known import all_databases
from dbdyno.databases.postgresql.telemetry.views import VIEWS
from dbdyno.explain.registry import all_rules
from dbdyno.host.doctor import all_probes
from dbdyno.host.observed_host import all_sources
from dbdyno.model.comparison import Comparison
from dbdyno.model.record import RunRecord
from dbdyno.model.run import TABLES
from dbdyno.model.tables import OfInterval, Table
from dbdyno.peers.pgbench import options as pgbench_options
from dbdyno.peers.sysbench import options as sysbench_options
from dbdyno.store.query import Runs
from dbdyno.workloads.registry import all_workloads
from docs import reference
from docs.records import json_objects

RECORD = RunRecord(
    run_id="1", status="done", started_at="", workload="tpcb", target="postgresql://", seed=1
)


@pytest.fixture(scope="module")
def commands() -> str:
    return reference.commands()


def test_every_command_has_a_chapter_with_examples(commands):
    chapters = commands.split("\n## ")[1:]
    assert {chapter.split()[0] for chapter in chapters} >= set(COMMANDS)
    for name in COMMANDS:
        assert f"\n  dbdyno {name}" in commands


def test_every_option_and_argument_has_a_description(commands):
    entries = re.findall(r"^\* `([^`]+)`:?(.*)$", commands, re.MULTILINE)
    assert len(entries) > 40
    assert [name for name, text in entries if len(text.split("*[")[0].strip()) < 4] == []


def test_every_command_has_a_description(commands):
    silent = re.findall(r"```console\n(dbdyno .*)\n```\n\n(?=\*\*|#|Examples)", commands)
    assert silent == []


def test_every_chapter_begins_with_the_usage_of_its_command(commands):
    titles = re.findall(r"^###? (.*)\n\n```console\n(dbdyno .*)$", commands, re.MULTILINE)
    assert len(titles) == commands.count("\n## ") + commands.count("\n### ")
    assert {"runs rm", "study resume", "server start"} <= {title for title, _ in titles}
    for title, usage in titles:
        assert re.match(rf"dbdyno {title}( [A-Z[]|$)", usage), usage


def test_every_exit_code_has_its_meaning(commands):
    for code in Exit:
        assert f"| {code.value} | {code.meaning} |" in commands


def page_of_the_manual(name: str) -> str:
    return (Path(reference.__file__).parent / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("page", "peer"),
    [(reference.pgbench(), pgbench_options), (reference.sysbench(), sysbench_options)],
    ids=["pgbench", "sysbench"],
)
def test_every_option_of_a_peer_says_what_becomes_of_it(page, peer):
    for option in peer.OPTIONS:
        cells = [text.replace("|", "\\|") for text in (option.written, option.meaning)]
        assert f"| `{cells[0]}` | {cells[1]} | {option.becomes} |" in page
        assert option.becomes
        assert not option.differs or f"| {option.differs} |" in page
    assert all(f"| {of} | {what} |" in page for of, what in peer.DIFFERENCES.items())


@pytest.mark.parametrize("name", all_workloads())
def test_every_workload_and_parameter_is_described(name):
    workload = all_workloads()[name]
    page = reference.workloads()
    assert f"## {name}\n" in page
    assert workload.summary
    for parameter in workload.parameters:
        assert parameter.description, parameter.name
        assert f"| `{parameter.name}` |" in page


@pytest.mark.parametrize("answer", all_answers().values(), ids=lambda answer: answer.id)
def test_every_answer_of_a_study_and_its_options_are_described(answer):
    page = reference.answers()
    assert f"## {answer.id}\n\n{answer.title}." in page
    for option, meaning in answer.options.items():
        assert len(meaning) > 10, option
        assert f"| `{option}` | {meaning} |" in page


def test_every_probe_has_its_reason():
    page = reference.doctor()
    for name, probe in all_probes().items():
        assert len(probe.meaning) > 20, name
        assert probe.title in page


@pytest.mark.parametrize("name", all_rules())
def test_every_rule_has_its_page(name):
    page = reference.rules().split(f"## {name}\n")[1].split("\n## ")[0]
    for part in ("Looks for", "Arithmetic", "Source", "Wrong when"):
        text = re.search(rf"\*\*{part}\.\*\* (.+)", page)
        assert text, part
        assert len(text[1]) > 20, part


def test_every_subsystem_is_described_with_all_beginnings_of_names():
    page = reference.subsystems()
    assert MEANINGS.keys() == TITLES.keys()
    for name, meaning in MEANINGS.items():
        assert f"| {TITLES[name]} | `{name}` | {meaning} |" in page
    for name, title in CLASSES.items():
        assert f"| {title} | `{name}` |" in page
    databases = [one for one in all_databases().values() if one.subsystems]
    chapters = dict(re.findall(r"^## (.+)\n((?:(?!## ).*\n)*)", page, re.MULTILINE))
    of_databases = {
        title: text for titles, text in chapters.items() for title in titles.split(", ")
    }
    lists = [(one.subsystems, of_databases[one.title]) for one in databases]
    lists += [
        (LIBRARIES, chapters["Libraries"]),
        (WAYS_IN, chapters["The kernel"]),
        (SLEEPING, chapters["The kernel"]),
    ]
    for subsystems, chapter in lists:
        for name, words in subsystems.items():
            rows = [row for row in chapter.split("\n") if row.startswith(f"| {TITLES[name]} |")]
            listed = {word for row in rows for word in re.findall(r"`([^`]+)`", row)}
            assert set(words.split()) <= listed, name


def test_every_table_and_column_has_its_meaning():
    page = reference.recorded()
    for name, table in {"runs": Runs, **TABLES}.items():
        assert table.meaning() not in {"", Table.meaning(), OfInterval.meaning()}
        assert f"## {name}\n\n{table.meaning()}\n" in page
        for column, its in zip(table.schema, table.declared.values(), strict=True):
            assert its.meaning, (name, column)
            kind = f"{its.kind.sql}, so far" if its.is_rising else its.kind.sql
            assert f"| `{column}` | {kind} | {its.meaning} |" in page


def test_every_field_of_a_json_object_has_its_type_and_meaning():
    page = reference.records()
    for described in json_objects([RunRecord, Comparison]):
        chapter = page.split(f"\n## {described.name}\n")[1].split("\n## ")[0]
        assert chapter.strip().startswith(described.summary.split("\n")[0])
        for name, kind, meaning in described.fields:
            assert meaning.endswith((".", "…")), f"{described.name}.{name}"
            assert f"| `{name}` | {kind} | " in chapter


def test_the_objects_inside_a_record_have_chapters():
    page = reference.records()
    named = set(re.findall(r"\]\(#(\w+)\)", page))
    assert {"finding", "latency", "costrecord", "metriccomparison", "repeats"} <= named
    assert named == {title.lower() for title in re.findall(r"^## (\w+)$", page, re.MULTILINE)}


def test_json_types_and_names_are_those_that_are_written():
    run = {one.name: one for one in json_objects([RunRecord])}["RunRecord"]
    failure = {one.name: one for one in json_objects([RunRecord])}["FailureRecord"]
    kinds = {field.name: field.type for field in run.fields}
    assert kinds.keys() == json.loads(msgspec.json.encode(RECORD)).keys()
    assert kinds["valid"] == "boolean or null"
    assert kinds["doubts"] == "array of string"
    assert kinds["failures"] == "array of [FailureRecord](#failurerecord)"
    assert kinds["throughput_tps"] == "[Throughput](#throughput) or null"
    assert kinds["status"] == '`"done"`, `"failed"`, `"interrupted"`, `"running"`'
    assert "class" in {field.name for field in failure.fields}


def test_every_target_is_listed():
    assert all(f"| `{name}` |" in reference.targets() for name in all_adapters())


def test_every_source_of_the_host_has_a_description():
    page = reference.machine()
    for name, source in all_sources().items():
        assert f"## {name}\n" in page
        for text in (source.watches, source.objects, source.files):
            assert len(text) > 8, name
        assert all(f"`{column}`" in page for column in source.counters | source.levels)


def test_the_manual_explains_each_doubt():
    section = page_of_the_manual("results").split("\n### Doubts\n")[1].split("\n## ")[0]
    beginnings = [
        set(cell.split()) for cell in re.findall(r"^\| ([^|]+) \|", section, re.MULTILINE)
    ]
    names = [doubt.__name__ for doubt in DOUBTS]
    documented = [any(text >= set(name.split("_")) for text in beginnings) for name in names]
    assert [
        name for name, is_documented in zip(names, documented, strict=True) if not is_documented
    ] == []


def test_the_manual_names_every_view_that_is_read():
    page = page_of_the_manual("telemetry")
    assert [view.name for view in VIEWS if f"`{view.name}`" not in page] == []
