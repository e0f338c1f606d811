"""Names and ids are checked at the border."""

import pytest

from nbresume.errors import BadName, UsageError
from nbresume.model.ids import (
    parse_checkpoint_id,
    parse_kind,
    parse_run_id,
    parse_step_name,
)

GOOD_NAMES = ["a", "0", "load_data", "A.b-c_9", "x" * 64]
BAD_NAMES = ["", "_a", ".a", "-a", "a b", "ä", "a/b", "a\n", "x" * 65]


@pytest.mark.parametrize("text", GOOD_NAMES)
def test_a_legal_step_name_passes(text):
    """Letters, digits, '_', '.' and '-', up to 64, in any case."""
    assert text == parse_step_name(text)


@pytest.mark.parametrize("text", BAD_NAMES)
def test_an_illegal_step_name_is_refused(text):
    """The refusal says what a name is and shows one."""
    with pytest.raises(BadName, match=r"%%step load_data"):
        parse_step_name(text)


def test_a_run_id_is_16_hex_digits():
    """Nothing else could lead to a run."""
    assert parse_run_id("0123456789abcdef") == "0123456789abcdef"
    for bad in ("", "0123456789ABCDEF", "0123456789abcde", "../456789abcdef0"):
        with pytest.raises(UsageError, match="nbresume status"):
            parse_run_id(bad)


def test_a_checkpoint_id_is_no_path():
    """An id of a user's own chain has no slashes and at most 128 characters."""
    assert parse_checkpoint_id("orders-2026") == "orders-2026"
    for bad in ("", "../x", "a/b", "x" * 129, ".hidden"):
        with pytest.raises(UsageError, match="orders-2026"):
            parse_checkpoint_id(bad)


def test_a_kind_is_namespaced():
    """Two lower-case words at least, joined by dots."""
    assert parse_kind("acme.order") == "acme.order"
    assert parse_kind("acme.sales.order-2") == "acme.sales.order-2"
    for bad in ("", "order", "Acme.order", "acme.", "acme..order", "acme.2"):
        with pytest.raises(UsageError, match=r"acme\.order"):
            parse_kind(bad)
