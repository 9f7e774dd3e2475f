import pytest

from tests.store import synthetic


@pytest.fixture
def frames():
    return synthetic.packed(synthetic.Shape(seconds=12, warmup=2, tps=200))
