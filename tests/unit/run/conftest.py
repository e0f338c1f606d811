"""Fixtures of the tests of use cases."""

import pytest
from unit.run.outside import Remote


@pytest.fixture
def remote():
    """Return an outside that nobody has touched."""
    return Remote()
