"""The garbage collector waits, and works afterwards as it did before."""

import gc

import pytest

from nbresume.collector import put_off


@pytest.mark.parametrize("works", [True, False])
def test_the_collector_is_left_as_it_was(works):
    """Also where the user switched it off, and when the body raises."""
    before = gc.isenabled()

    def body():
        with put_off():
            assert not gc.isenabled()
            with put_off():
                pass
            assert not gc.isenabled()
            raise KeyError

    try:
        (gc.enable if works else gc.disable)()
        with pytest.raises(KeyError):
            body()
        assert gc.isenabled() is works
    finally:
        (gc.enable if before else gc.disable)()
