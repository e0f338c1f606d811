"""What `make test`, `make long` and `make every` leave out is named rightly."""

import re
from pathlib import Path

import pytest
import selection

TESTS = Path(__file__).parent
NAMED = [*selection.QUICK, *selection.DRAWN, *selection.BY_HAND]


@pytest.mark.parametrize("name", sorted(set(NAMED)))
def test_a_test_that_is_chosen_from_is_there(name):
    """One that was renamed would be run whole, or not at all, and nobody told."""
    found = [
        path.name
        for path in TESTS.rglob("test_*.py")
        if re.search(rf"^\s*(async )?def {name}\(", path.read_text(), re.MULTILINE)
    ]

    assert len(found) == 1
