"""The man pages have what the commands declare, and groff understands every line of them."""

import re
import subprocess

import pytest

from dbdyno.cli.app import make_app
from dbdyno.cli.commands import COMMANDS
from docs.man_pages import pages

PAGES = dict(pages())


def rendered(page: str) -> str:
    """A page as man shows it: one blank between words. A complaint of groff is an error."""
    command = ["groff", "-man", "-ww", "-k", "-Tutf8", "-P-cbou"]
    shown = subprocess.run(command, input=PAGES[page], capture_output=True, text=True, check=True)
    assert shown.stderr == ""
    return re.sub(r"\s+", " ", shown.stdout.replace("‐\n", ""))


@pytest.mark.parametrize("page", sorted(PAGES))
def test_a_page_is_shown_without_a_complaint(page):
    text = rendered(page)
    assert all(title in text for title in ("NAME", "SYNOPSIS", "DESCRIPTION", "EXAMPLES"))
    assert f" {page.removesuffix('.1')} - " in text.replace("−", "-").replace("‐", "-")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_page_has_every_option_and_every_subcommand(name):
    text = PAGES[f"dbdyno-{name}.1"].replace("\\-", "-")
    entries = {
        word for line in re.findall(r"^\.B (.+)", text, re.MULTILINE) for word in line.split()
    }
    command = make_app([name])[name]
    below = [command[word] for word in command if not word.startswith("-")]
    for app in (command, *below):
        if app.default_command:
            shown = [one for one in app.assemble_argument_collection() if one.show]
            assert {one.name for one in shown} <= entries
    for word in command:
        assert word.startswith("-") or f".SH dbdyno {name} {word}\n" in text


def test_a_line_of_text_is_never_a_macro_or_an_escape():
    """Help texts have backslashes, and examples may begin with a dot."""
    macros = {".TH", ".SH", ".SS", ".TP", ".B", ".BR", ".PP", ".br", ".nf", ".fi"}
    for text in PAGES.values():
        lines = text.splitlines()
        assert {line.split()[0] for line in lines if line.startswith((".", "'"))} <= macros
        assert set(re.findall(r"\\(.)", text)) <= {"-", "e", "&"}
