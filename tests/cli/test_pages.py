"""Whether a report can be written is checked before anything is measured."""

import pytest

from dbdyno.cli.pages import refuse_unwritable
from dbdyno.errors import DbdynoError


def test_the_home_may_be_made_for_it(home):
    refuse_unwritable(home / "report.html")
    assert home.stat().st_mode & 0o777 == 0o700


def test_any_other_folder_must_be_there(home):
    with pytest.raises(DbdynoError, match="does not exist"):
        refuse_unwritable(home / "reports" / "x.html")
    assert not home.exists()
