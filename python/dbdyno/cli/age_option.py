"""``--older``: the age at which something is removed. Removes nothing itself."""

from datetime import timedelta
from typing import Annotated

from cyclopts import Parameter

from dbdyno.run.grammar import span_ns
from dbdyno.run.option_parameters import parsed
from dbdyno.run.options import SECOND_NS


def age_of(text: str) -> timedelta:
    """Parse a duration; a bare number is in days."""
    return timedelta(seconds=span_ns(text, "d") / SECOND_NS)


Age = Annotated[timedelta | None, Parameter(converter=parsed(age_of), metavar="TIME")]
