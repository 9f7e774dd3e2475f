"""Whether a report can be written is checked before anything is measured; it is written whole."""

import resource
from contextlib import contextmanager

import pytest

from dbdyno.cli import main
from dbdyno.cli.pages import refuse_unwritable, write_page
from dbdyno.errors import DbdynoError
from dbdyno.report.content import Page, Text
from tests.cli import made_up_runs


def page(title):
    return Page(title=title, head=[], top=[Text(text="a line")])


@contextmanager
def files_of_at_most(size):
    """Let no file grow beyond this size, as on a disk that is full then."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_the_home_may_be_made_for_it(home):
    refuse_unwritable(home / "report.html")
    assert home.stat().st_mode & 0o777 == 0o700


def test_any_other_folder_must_be_there(home):
    with pytest.raises(DbdynoError, match="does not exist"):
        refuse_unwritable(home / "reports" / "x.html")
    assert not home.exists()


def test_a_full_disk_leaves_the_old_page_and_nothing_else(tmp_path):
    path = tmp_path / "report.html"
    write_page(page("the old page"), path)
    with files_of_at_most(1000), pytest.raises(DbdynoError, match="File too large"):
        write_page(page("the new page"), path)
    assert "<h1>the old page</h1>" in path.read_text()
    assert list(tmp_path.iterdir()) == [path]


def test_a_page_that_others_may_read_stays_so_and_a_link_leads_where_it_led(tmp_path):
    path, link = tmp_path / "published.html", tmp_path / "report.html"
    path.write_text("the old page")
    path.chmod(0o640)
    link.symlink_to(path.name)
    write_page(page("the new page"), link)
    assert link.is_symlink()
    assert "<h1>the new page</h1>" in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_device_is_written_to_and_not_replaced(tmp_path):
    path = tmp_path / "report.html"
    path.symlink_to("/dev/null")
    write_page(page("the page"), path)
    assert path.is_char_device()


@pytest.mark.parametrize(
    ("name", "beginning"),
    [
        ("report.html", "<!doctype html>\n"),
        ("report", "<!doctype html>\n"),
        ("report.md", "# the page\n"),
        ("report.TXT", "the page\n\na line\n"),
        ("report.json", '{\n  "format_version": 1,\n'),
    ],
)
def test_the_ending_of_the_file_says_in_which_form(tmp_path, name, beginning):
    write_page(page("the page"), tmp_path / name)
    assert (tmp_path / name).read_text().lstrip().startswith(beginning)


def test_a_form_that_is_named_precedes_the_ending(tmp_path):
    write_page(page("the page"), tmp_path / "report.md", form="text")
    assert (tmp_path / "report.md").read_text() == "the page\n\na line\n"


def test_a_report_is_printed_in_the_form_or_written_by_the_ending(home, capsys, tmp_path):
    run_id = made_up_runs.run()
    for form, ending in (("text", "txt"), ("markdown", "md"), ("json", "json")):
        assert main(["report", run_id, "--format", form]) == 0
        printed = capsys.readouterr().out
        path = tmp_path / f"report.{ending}"
        assert main(["report", run_id, "-o", str(path)]) == 0
        assert capsys.readouterr().out == f"{path}\n"
        assert path.read_text() == printed
        assert run_id in printed
    assert list(home.rglob("report.*")) == []


def test_a_summary_has_one_form(home, capsys):
    for flag in ("--text", "--json"):
        assert main(["report", "last", "--format", "markdown", flag]) == 1
        assert f"--format and {flag} cannot be used together" in "".join(capsys.readouterr())
