"""Each distribution under its name, checked against scipy's independent implementation."""

import subprocess
import sys

import pytest
from scipy import stats

from dbdyno.analysis.statistics import probability


@pytest.mark.parametrize("freedom", [1, 2.5, 7, 100])
def test_student(freedom):
    assert probability.student_p(-2.2, freedom) == pytest.approx(2 * stats.t.sf(2.2, freedom))
    assert probability.student_quantile_two_sided(0.9, freedom) == pytest.approx(
        stats.t.ppf(0.95, freedom)
    )
    assert probability.student_quantile_upper(0.99, freedom) == pytest.approx(
        stats.t.ppf(0.99, freedom)
    )


@pytest.mark.parametrize("freedom", [1, 2.5, 7, 100])
def test_a_shift_found_so_often_passes_the_limit_so_often(freedom):
    limit = probability.student_quantile_two_sided(0.95, freedom)
    shift = probability.detectable_shift(0.8, limit, freedom)
    assert stats.nct.sf(limit, freedom, shift) == pytest.approx(0.8, rel=1e-3)


def test_chi_square_and_the_ratio_of_variances():
    assert probability.chi_square_quantile(0.025, 4) == pytest.approx(stats.chi2.ppf(0.025, 4))
    assert probability.variance_ratio_p(3.1, 2, 9) == pytest.approx(stats.f.sf(3.1, 2, 9))


def test_scipy_is_not_imported_before_something_is_compared():
    """Importing scipy takes longer than everything else that a run needs."""
    program = "import sys, dbdyno.analysis.compare.compare; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
