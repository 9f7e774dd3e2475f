"""Whether a report can be written is checked before anything is measured; it is written whole."""

import resource
from contextlib import contextmanager

import pytest

from dbdyno.cli.pages import refuse_unwritable, write_page
from dbdyno.errors import DbdynoError


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
    write_page("the old page", path)
    with files_of_at_most(1000), pytest.raises(DbdynoError, match="File too large"):
        write_page("n" * 2000, path)
    assert path.read_text() == "the old page"
    assert list(tmp_path.iterdir()) == [path]


def test_a_page_that_others_may_read_stays_so_and_a_link_leads_where_it_led(tmp_path):
    path, link = tmp_path / "published.html", tmp_path / "report.html"
    path.write_text("the old page")
    path.chmod(0o640)
    link.symlink_to(path.name)
    write_page("the new page", link)
    assert link.is_symlink()
    assert path.read_text() == "the new page"
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_device_is_written_to_and_not_replaced(tmp_path):
    path = tmp_path / "report.html"
    path.symlink_to("/dev/null")
    write_page("the page", path)
    assert path.is_char_device()
