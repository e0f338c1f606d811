"""The panel in the notebook: ipywidgets where they work, HTML and text everywhere.

The rule: it shows a RunView and nothing else, and it never chooses. The saved
notebook, GitHub and a terminal show the fallback, which says the same.
"""

import threading
from collections.abc import Callable, Mapping
from html import escape
from typing import Any

from IPython.display import publish_display_data

from nbresume.model.states import State
from nbresume.run.view import RunView
from nbresume.run.ways import WHOLE
from nbresume.ui import text

WIDGET = "application/vnd.jupyter.widget-view+json"
Action = Callable[[], str]
"""What a button does; returns the text that is shown then."""
Settle = Callable[[str, str, str], str]
"""Records (step, how, because); returns the text that is shown then."""
OnMain = Callable[[Callable[[], None]], None]
"""Runs a function on the kernel's main thread, between cells."""

_publish: Callable[..., None] = publish_display_data


def fallback(view: RunView) -> dict[str, str]:
    """Return the view as HTML and as text: what a saved notebook shows."""
    return {"text/html": text.html(view), "text/plain": text.table(view)}


def show_static(view: RunView) -> None:
    """Show a run without buttons."""
    _publish(fallback(view))


class Panel:
    """A run with buttons: what they do is given, so that it is one with `%steps`."""

    def __init__(
        self,
        view: Callable[[], RunView],
        actions: Mapping[str, Action],
        *,
        settle: Settle,
        on_main: OnMain,
    ) -> None:
        # 0.1 s: paid only when there is something to resume and somebody to see it
        import ipywidgets as widgets  # noqa: PLC0415

        self._view = view
        self._on_main = on_main
        self._table = widgets.HTML()
        self._answer = widgets.HTML()
        self._buttons = {
            label: widgets.Button(
                description=label, tooltip=f"nbresume: {label.lower()}"
            )
            for label in (*actions, "Refresh")
        }
        for label, action in actions.items():
            self._buttons[label].on_click(self._click(action))
        self._buttons["Refresh"].on_click(self._click(lambda: ""))
        row = widgets.HBox(list(self._buttons.values()))
        self._form = self._settling(widgets, settle)
        self.widget: Any = widgets.VBox([self._table, row, self._form, self._answer])
        self.refresh()

    def _settling(self, widgets: Any, settle: Settle) -> Any:
        """Return the form that settles a step in doubt; nothing in it is chosen yet."""
        self._step = widgets.Dropdown(description="in doubt")
        self._how = widgets.Dropdown(
            options=[("choose …", ""), *((how.value, how.value) for how in WHOLE)],
            description="settle as",
        )
        self._because = widgets.Text(
            description="because", placeholder="kept on record"
        )
        self._buttons["Settle"] = widgets.Button(
            description="Settle", tooltip="nbresume: record this decision"
        )

        def decide() -> str:
            if not self._how.value:
                return "Choose how the step is settled."
            return settle(self._step.value, self._how.value, self._because.value)

        self._buttons["Settle"].on_click(self._click(decide))
        fields = [self._step, self._how, self._because, self._buttons["Settle"]]
        return widgets.HBox(fields)

    def refresh(self) -> None:
        """Show the run as it stands now."""
        view = self._view()
        self._table.value = text.html(view)
        doubtful = [s.name for s in view.steps if s.state is State.AMBIGUOUS]
        if list(self._step.options) != doubtful:
            self._step.options, self._how.value, self._because.value = doubtful, "", ""
            self._step.index = 0 if doubtful else None
        self._form.layout.display = "flex" if doubtful else "none"

    def _click(self, action: Action) -> Callable[[Any], None]:
        def act() -> None:
            for button in self._buttons.values():
                button.disabled = True
            try:
                answer = action()
            except Exception as error:  # noqa: BLE001 - shown where it was asked for
                answer = f"{type(error).__name__}: {error}"
            finally:
                for button in self._buttons.values():
                    button.disabled = False
            self._answer.value = f"<pre>{escape(answer)}</pre>" if answer else ""
            self.refresh()

        def clicked(_button: Any) -> None:
            # a busy front end delivers clicks to a subshell's thread, which must not
            # touch the namespace
            if threading.current_thread() is threading.main_thread():
                act()
            else:
                self._on_main(act)

        return clicked

    def show(self) -> None:
        """Show the panel, with the fallback beside it."""
        bundle: dict[str, Any] = dict(fallback(self._view()))
        bundle[WIDGET] = {
            "version_major": 2,
            "version_minor": 0,
            "model_id": self.widget.model_id,
        }
        _publish(bundle)
