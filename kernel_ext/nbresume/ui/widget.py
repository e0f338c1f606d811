"""The panel in the notebook: ipywidgets where they work, HTML and text everywhere.

The rule: it shows a RunView and nothing else, and it never chooses. The saved
notebook, GitHub and a terminal show the fallback, which says the same.
"""

import secrets
import threading
from collections.abc import Callable, Mapping
from html import escape
from typing import Any

from IPython.display import publish_display_data

from nbresume.run.view import RunView, StepView
from nbresume.run.ways import Way
from nbresume.ui import text

WIDGET = "application/vnd.jupyter.widget-view+json"
Action = Callable[[], str]
"""What a button does; returns the text that is shown then."""
Decide = Callable[[str, Way, str], str]
"""Records (step, way, because); returns the text that is shown then."""
OnMain = Callable[[Callable[[], None]], None]
"""Runs a function on the kernel's main thread, between cells."""

_publish: Callable[..., None] = publish_display_data


def fallback(view: RunView) -> dict[str, str]:
    """Return the view as HTML and as text: what a saved notebook shows."""
    return {"text/html": text.html(view), "text/plain": text.table(view)}


def show_static(view: RunView) -> str:
    """Show a run without buttons; return what tells this output from others."""
    display_id = secrets.token_hex(8)
    _publish(fallback(view), transient={"display_id": display_id})
    return display_id


def _label(way: Way) -> str:
    """Return the few words by which a way out is chosen."""
    return f"{way.how} for the effect {way.effect!r}" if way.effect else way.how


def _meanings(ways: list[Way]) -> str:
    items = "".join(
        f"<li style='margin:0'><b>{escape(_label(way))}</b>: {escape(way.text)}</li>"
        for way in ways
    )
    return f"<ul style='margin:0;line-height:1.5'>{items}</ul>"


class Panel:
    """A run with buttons: what they do is given, so that it is one with `%steps`.

    Words and order are those of the sidebar.
    """

    def __init__(
        self,
        view: Callable[[], RunView],
        actions: Mapping[str, Action],
        *,
        decide: Decide,
        on_main: OnMain,
    ) -> None:
        # 0.1 s, when somebody is there to see it and no cell waits for the kernel
        import ipywidgets as widgets  # noqa: PLC0415

        self._view = view
        self._on_main = on_main
        self._waiting: dict[str, StepView] = {}
        self._head = widgets.HTML()
        self._table = widgets.HTML()
        self._answer = widgets.HTML()
        self._buttons = {
            label: widgets.Button(
                description=label,
                tooltip=f"nbresume: {label.lower()}",
                layout={"width": "auto"},  # else a longer word is cut
            )
            for label in (*actions, "Look again")
        }
        for label, action in actions.items():
            self._buttons[label].on_click(self._click(action))
        self._buttons["Look again"].on_click(self._click(lambda: ""))
        row = widgets.HBox(list(self._buttons.values()))
        self._form = self._deciding(widgets, decide)
        self.widget: Any = widgets.VBox(
            [self._head, row, self._table, self._form, self._answer]
        )
        self.refresh()

    def _deciding(self, widgets: Any, decide: Decide) -> Any:
        """Return the form for a step that waits; nothing in it is chosen yet."""
        wide = {"layout": {"width": "auto"}, "style": {"description_width": "initial"}}
        self._step = widgets.Dropdown(description="Decide about step", **wide)
        self._known = widgets.HTML()
        self._meant = widgets.HTML()
        # a choice is one line high: a sentence would run into the next one
        self._way = widgets.RadioButtons(layout={"width": "auto"})
        self._because = widgets.Text(
            description="Reason, kept in the history of the run", **wide
        )
        self._buttons["Decide"] = widgets.Button(
            description="Decide", tooltip="nbresume: record this decision"
        )
        self._step.observe(lambda _: self._offer(), names="value")

        def record() -> str:
            if self._way.value is None:
                return "Choose what is to be done."
            way = self._ways()[self._way.value]
            return decide(self._step.value, way, self._because.value)

        self._buttons["Decide"].on_click(self._click(record))
        title = widgets.HTML("<b>What is to be done</b>")
        fields = [self._step, self._known, title, self._meant, self._way, self._because]
        return widgets.VBox([*fields, self._buttons["Decide"]])

    def _ways(self) -> list[Way]:
        step = self._waiting.get(self._step.value or "")
        return [way for way in step.ways if way.how] if step else []

    def _offer(self) -> None:
        """Show what is known of the step, and its ways out; none is chosen."""
        step = self._waiting.get(self._step.value or "")
        self._known.value = text.waiting(step) if step else ""
        ways = self._ways()
        self._meant.value = _meanings(ways)
        self._way.options = [(_label(way), n) for n, way in enumerate(ways)]
        self._way.value, self._because.value = None, ""

    def refresh(self) -> None:
        """Show the run as it stands now."""
        view = self._view()
        self._head.value = text.html_head(view)
        self._table.value = text.html_steps(view)
        former = self._waiting
        self._waiting = {
            step.name: step for step in view.steps if any(way.how for way in step.ways)
        }
        if self._waiting != former:
            self._step.options = list(self._waiting)
            self._step.index = 0 if self._waiting else None
            self._offer()
        self._form.layout.display = "flex" if self._waiting else "none"

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

    def show(self, *, instead_of: str = "") -> None:
        """Show the panel, with the fallback beside it; or in the place of an output."""
        bundle: dict[str, Any] = dict(fallback(self._view()))
        bundle[WIDGET] = {
            "version_major": 2,
            "version_minor": 0,
            "model_id": self.widget.model_id,
        }
        if instead_of:
            _publish(bundle, transient={"display_id": instead_of}, update=True)
        else:
            _publish(bundle)
