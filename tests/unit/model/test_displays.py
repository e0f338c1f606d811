"""What a cell showed, as it is stored."""

from nbresume.model.codec import canonical, decode
from nbresume.model.displays import Display, Shown, Stream


def test_streams_and_displays_are_told_apart():
    """Text and MIME bundles come back in their order."""
    shown = [
        Stream(name="stdout", text="one\n"),
        Display(data={"text/plain": "2"}, display_id="d1", result=True),
        Stream(name="stderr", text="three"),
    ]

    assert decode(canonical(shown), list[Shown], name="displays") == shown
