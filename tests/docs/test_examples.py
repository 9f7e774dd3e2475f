"""Every command in the help texts and in the manual is accepted by dbdyno, with its option values,
and every study file in the manual can be read.

Nothing is run: the commands are only parsed.
"""

import re
import shlex
from itertools import pairwise
from pathlib import Path

import pytest

from dbdyno.cli.app import make_app
from dbdyno.cli.commands import COMMANDS
from dbdyno.cli.front_page import EXAMPLES
from dbdyno.cli.program import with_script_options
from dbdyno.study.file import SIZES
from dbdyno.study.matrix import points_of
from dbdyno.study.resolved_point import resolve
from dbdyno.study.spec import read_study
from dbdyno.workloads.registry import all_workloads

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# Placeholders for a person or a shell to fill in, and tokens that end a command for a shell.
FILLED_IN = {"$target": "postgresql://db/bench", "$seed": "7", "…": "x", "$pair": "1"}
AFTER = {"&&", "|", ">", ">>", ";"}


def commands_in_help() -> list[str]:
    apps = [make_app([name])[name] for name in COMMANDS]
    below = [app[name] for app in apps for name in app if not name.startswith("-")]
    pages = [str(app.help_epilogue) for app in (*apps, *below)]
    return [*EXAMPLES, *(line for page in pages for line in commands_in(page))]


def commands_in_the_manual() -> list[str]:
    return [line for block in blocks_of(r"\w*") for line in commands_in(block)]


def blocks_of(kind: str) -> list[str]:
    texts = (page.read_text(encoding="utf-8") for page in PAGES)
    return [
        block for text in texts for block in re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL)
    ]


def commands_in(text: str) -> list[str]:
    """The dbdyno commands in a text, with continued lines joined."""
    lines = re.sub(r"\s*\\\n\s*", " ", text).splitlines()
    return [
        line.strip().removeprefix("$ ") for line in lines if re.match(r"\s*(\$ )?dbdyno ", line)
    ]


def arguments_of(command: str) -> list[str]:
    """The words of the command as a shell splits them, without what follows it or a wide gap."""
    for name, value in FILLED_IN.items():
        command = command.replace(name, value)
    arguments = shlex.split(re.split(r"\s#|\s{2,}(?=[a-z])", command)[0])
    end = next((place for place, word in enumerate(arguments) if word in AFTER), len(arguments))
    return arguments[1:end]


@pytest.mark.parametrize("command", sorted({*commands_in_help(), *commands_in_the_manual()}))
def test_the_command_line_accepts_it(command):
    arguments = arguments_of(command)
    parse = make_app(arguments).parse_args
    parse(with_script_options(arguments), exit_on_error=False, print_error=False)


def defined_in(arguments: list[str]) -> list[tuple[str, str]]:
    """The workloads and the parameters that a command defines for them."""
    named = [
        word.partition("@")[0] for word in arguments if word.partition("@")[0] in all_workloads()
    ]
    defined = [
        value.partition("=")[0] for flag, value in pairwise(arguments) if flag in {"-D", "--define"}
    ]
    return [(workload, name) for workload in named for name in defined]


def test_parameters_in_commands_exist():
    found = [
        pair
        for command in {*commands_in_help(), *commands_in_the_manual()}
        for pair in defined_in(arguments_of(command))
    ]
    assert len(found) > 5
    known = {name: {one.name for one in each.parameters} for name, each in all_workloads().items()}
    assert [pair for pair in found if pair[1] not in known[pair[0]]] == []


@pytest.mark.parametrize("text", blocks_of("toml"), ids=lambda text: text.splitlines()[0])
def test_a_study_file_in_the_manual_can_be_read(tmp_path, text):
    path = tmp_path / "shown.toml"
    path.write_text(text)
    (tmp_path / "report.sql").write_text("select 1;\n")
    for size in SIZES:
        points = points_of(read_study(path, size))
        assert len(points) > 1
        for point in points:
            resolve(point, tmp_path, say=print)
