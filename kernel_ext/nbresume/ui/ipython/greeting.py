"""What `%load_ext nbresume` shows of a run that it found: at once, without buttons."""

from collections.abc import Callable

from nbresume.compose.graph import Session
from nbresume.ui.ipython.face import Face
from nbresume.ui.ipython.pages import Pages
from nbresume.ui.widget import show_static


def show(session: Session, pages: Pages) -> Callable[[], None] | None:
    """Show the run; return what puts buttons there, if somebody sees them."""
    face = Face(session, pages)
    shown = show_static(face.glance())
    if not session.settings.attended:
        return None
    return lambda: _show_buttons(face, shown)


def _show_buttons(face: Face, shown: str) -> None:
    # loaded in a quiet moment, with all that the commands do
    from nbresume.ui.ipython.steps import panel_of  # noqa: PLC0415

    panel_of(face).show(instead_of=shown)
