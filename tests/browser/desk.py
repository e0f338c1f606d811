"""A notebook that is open beside the sidebar, as a person uses it.

The rule: what a person would click is clicked; commands and models of the page are
only asked, never told.
"""

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import psutil
from playwright.sync_api import Locator, Page, expect
from serving import Lab, environment

SHOTS = Path(__file__).resolve().parents[2] / ".work" / "shots"
LOAD = "%load_ext nbresume"
CURRENT = "window.jupyterapp.shell.currentWidget"
IDLE = (
    "() => window.jupyterapp?.shell.currentWidget?.sessionContext"
    "?.session?.kernel?.status === 'idle'"
)

# the ratio of WCAG 2.1, between a text's color and the first color behind it
CONTRASTS = """root => {
  const channels = text => text.match(/[\\d.]+/g).map(Number);
  const linear = c => {
    const s = c / 255;
    return s <= 0.03928 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
  };
  const luminance = ([r, g, b]) =>
    0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const over = (front, back) => {
    const alpha = front[3] ?? 1;
    return [0, 1, 2].map(i => front[i] * alpha + back[i] * (1 - alpha));
  };
  const behind = node => {
    if (node === null) {
      return [255, 255, 255];
    }
    const color = channels(getComputedStyle(node).backgroundColor);
    return (color[3] ?? 1) === 1 ? color : over(color, behind(node.parentElement));
  };
  const found = {};
  const walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const text = walk.currentNode.textContent.trim();
    const node = walk.currentNode.parentElement;
    if (text !== '' && node.checkVisibility()) {
      const back = behind(node);
      const front = over(channels(getComputedStyle(node).color), back);
      const [low, high] = [luminance(front), luminance(back)].sort((a, b) => a - b);
      found[text] = (high + 0.05) / (low + 0.05);
    }
  }
  // an icon whose color says nothing of its own takes that of the theme
  for (const icon of root.querySelectorAll('[data-tone="plain"] path')) {
    const pair = [channels(getComputedStyle(icon).fill), behind(icon.parentElement)];
    const [low, high] = pair.map(luminance).sort((a, b) => a - b);
    const { step } = icon.closest('[data-step]').dataset;
    found[`icon of ${step}`] = (high + 0.05) / (low + 0.05);
  }
  return found;
}"""


def write_notebook(path, *sources):
    """Write a notebook; a source that begins with ``#`` is Markdown."""
    cells = []
    for number, source in enumerate(sources):
        is_text = source.startswith("# ")
        cell = {"id": f"c{number}", "metadata": {}, "source": source}
        cell["cell_type"] = "markdown" if is_text else "code"
        if not is_text:
            cell |= {"outputs": [], "execution_count": None}
        cells.append(cell)
    spec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    path.write_text(
        json.dumps(
            {
                "cells": cells,
                "metadata": {"kernelspec": spec},
                "nbformat": 4,
                "nbformat_minor": 5,
            }
        )
    )


def noted(name, body="", options=""):
    """Return a step that writes into the ledger that it runs, and in which process."""
    note = f"print('{name}', __import__('os').getpid(), file=open('ledger', 'a'))"
    return f"%%step {name} {options}".rstrip() + f"\n{note}\n{body}".rstrip()


@dataclass(frozen=True)
class Desk:
    """A notebook that is open beside the sidebar."""

    page: Page
    lab: Lab
    name: str

    @property
    def sidebar(self) -> Locator:
        """The sidebar."""
        return self.page.get_by_role("region", name="Steps of the notebook")

    @property
    def headline(self) -> Locator:
        """The sentence at its head."""
        return self.sidebar.get_by_role("status").first

    @property
    def panel(self) -> Locator:
        """The notebook that is seen."""
        return self.page.locator(".jp-NotebookPanel:visible")

    def open(self):
        """Open the notebook and the sidebar, and wait for the kernel."""
        self.page.goto(
            f"{self.lab.url}/lab/tree/{self.name}?token={self.lab.token}&reset"
        )
        self.panel.locator(".jp-Notebook").wait_for()
        self.wait_idle()
        self.tab("File Browser").click()
        self.show()

    def show(self):
        """Bring the sidebar into view."""
        if not self.sidebar.is_visible():
            self.tab("Steps of the notebook").click()
        expect(self.sidebar).to_be_visible()

    def tab(self, name) -> Locator:
        """Return the tab of a side panel."""
        return self.page.locator(f".jp-SideBar .lm-TabBar-tab[title^='{name}']")

    def wait_idle(self):
        """Wait until there is a kernel that is idle."""
        self.page.wait_for_function(IDLE, timeout=60_000)

    def turn_to(self, name, *sources):
        """Open another notebook in front of this one; a new one of these cells."""
        if sources:
            write_notebook(self.lab.root / name, *sources)
        self.file(name).dblclick()
        self.tab("File Browser").click()

    def beside(self, name):
        """Drag the tab of a notebook to the right, so that both are seen."""
        tabs = self.page.locator(".lm-DockPanel-tabBar .lm-TabBar-tab")
        tab = tabs.filter(has_text=name).bounding_box()
        area = self.page.locator("#jp-main-dock-panel").bounding_box()
        mouse = self.page.mouse
        mouse.move(tab["x"] + 30, tab["y"] + tab["height"] / 2)
        mouse.down()
        mouse.move(tab["x"] + 40, tab["y"] + 60, steps=4)
        right, middle = area["x"] + area["width"] - 20, area["y"] + area["height"] / 2
        mouse.move(right, middle, steps=8)
        mouse.up()
        expect(self.page.locator(".jp-NotebookPanel:visible")).to_have_count(2)

    def file(self, name) -> Locator:
        """Return a file's line in the file browser, which covers the left then."""
        files = self.page.locator("#filebrowser")
        if not files.is_visible():
            self.tab("File Browser").click()
        files.locator("[data-command='filebrowser:refresh']").click()
        return files.locator(".jp-DirListing-item", has_text=re.compile(rf"^{name}"))

    def file_menu(self, name, entry):
        """Choose an entry of a file's menu in the file browser."""
        self.file(name).click(button="right")
        self.choose(entry)
        self.tab("File Browser").click()

    def menu(self, *names):
        """Choose an entry of the menu, as *Run* and *Run All Cells*."""
        top, *below = names
        bar = self.page.locator(".lm-MenuBar-item")
        bar.filter(has_text=re.compile(rf"^{top}$")).click()
        for name in below:
            self.choose(name)

    def choose(self, name):
        """Choose an entry of the menu that is open."""
        entry = self.page.locator(".lm-Menu-itemLabel")
        entry.filter(has_text=re.compile(rf"^{re.escape(name)}…?$")).click()

    def answer(self, title, button):
        """Press a button of a dialog of JupyterLab."""
        told = self.page.locator(".jp-Dialog", has_text=title)
        exactly = re.compile(rf"^{re.escape(button)}$")
        told.locator(".jp-Dialog-button", has_text=exactly).click()
        expect(told).to_be_hidden()

    def save(self):
        """Save the notebook."""
        self.menu("File", "Save Notebook")
        self.wait_saved()

    def wait_saved(self):
        """Wait until the notebook is saved, its outputs too."""
        self.page.wait_for_function(f"() => !{CURRENT}.context.model.dirty")

    def wait_written(self, code):
        """Wait until the file has some code: what the page saves by itself.

        Outputs that arrive while it saves are not waited for.
        """
        path = self.lab.root / self.name
        self.until(lambda: code in path.read_text())

    def until(self, is_so):
        """Wait until something is so that the page does not show."""
        for _ in range(150):
            if is_so():
                return
            self.page.wait_for_timeout(200)
        raise AssertionError(is_so)

    def dark(self):
        """Turn to the dark theme."""
        self.menu("Settings", "Theme", "JupyterLab Dark")
        dark = ("data-jp-theme-light", "false")
        expect(self.page.locator("body")).to_have_attribute(*dark)

    def light(self):
        """Turn to the light theme."""
        self.menu("Settings", "Theme", "JupyterLab Light")
        light = ("data-jp-theme-light", "true")
        expect(self.page.locator("body")).to_have_attribute(*light)

    def open_settings(self):
        """Show the settings of the steps in the settings editor."""
        self.menu("Settings", "Settings Editor")
        editor = self.page.locator(".jp-SettingsPanel")
        entry = self.page.locator(".jp-PluginList-entry", has_text="Notebook steps")
        entry.click()
        expect(editor).to_contain_text("Notebook steps")

    def close_settings(self):
        """Close the settings editor, and be at the notebook again."""
        tab = self.page.locator(".lm-DockPanel-tabBar .lm-TabBar-tab")
        settings = tab.filter(has_text="Settings")
        settings.locator(".lm-TabBar-tabCloseIcon").click()
        expect(settings).to_have_count(0)
        expect(self.sidebar.get_by_role("heading", name=self.name)).to_be_visible()

    def set(self, **titles):
        """Set settings of the steps by their titles, as a person does."""
        self.open_settings()
        for title, is_on in titles.items():
            box = self.page.locator(".jp-SettingsPanel").get_by_label(title)
            with self.page.expect_response(
                lambda answer: (
                    answer.request.method == "PUT"
                    and "/api/settings/nbresume" in answer.url
                )
            ):
                box.set_checked(is_on)
        self.close_settings()

    def cell(self, place) -> Locator:
        """Return a cell by its place."""
        return self.panel.locator(
            f".jp-Notebook .jp-Cell[data-windowed-list-index='{place}']"
        )

    def output(self, place) -> Locator:
        """Return what a cell shows."""
        return self.cell(place).locator(".jp-OutputArea")

    def prompt(self, place) -> Locator:
        """Return the number beside a cell."""
        return self.cell(place).locator(".jp-InputPrompt")

    def select(self, place):
        """Select a cell."""
        self.prompt(place).click(position={"x": 20, "y": 6})

    def start(self, place):
        """Run a cell and do not wait for it."""
        self.select(place)
        self.page.keyboard.press("Shift+Enter")

    def run(self, place):
        """Run a cell to its end."""
        self.start(place)
        expect(self.prompt(place)).to_have_text(re.compile(r"\[\d+\]:"))

    def edit(self, place, *keys):
        """Type into a cell: names of keys, and text that is no name of a key."""
        self.cell(place).locator(".cm-content").click()
        for key in keys:
            if re.fullmatch(r"(Control\+)?[A-Z]\w+", key):
                self.page.keyboard.press(key)
            else:
                self.page.keyboard.type(key)
        self.page.keyboard.press("Escape")

    def drag(self, place, *, above):
        """Drag a cell by its prompt to the place above another cell."""
        self.select(place)
        self.wait_still(self.prompt(place))
        self.wait_still(self.cell(above))
        held = self.prompt(place).bounding_box()
        goal = self.cell(above).bounding_box()
        mouse = self.page.mouse
        mouse.move(held["x"] + 20, held["y"] + 8)
        mouse.down()
        mouse.move(held["x"] + 30, held["y"] - 10, steps=4)
        mouse.move(goal["x"] + 60, goal["y"] + 4, steps=8)
        mouse.up()

    def wait_still(self, what: Locator):
        """Wait until nothing moves something any more.

        Strips appear above cells when their steps are committed; a mouse that goes by
        itself would press and drop beside them.
        """
        before = None
        while (box := what.bounding_box()) != before:
            before = box
            self.page.wait_for_timeout(300)

    def step(self, name) -> Locator:
        """Return a step's row in the sidebar."""
        return self.sidebar.locator(f"[data-step='{name}']")

    def resume(self, name):
        """Press *Resume* at the resume point."""
        self.step(name).get_by_role("button", name="Resume").click()

    def expect_states(self, **states):
        """Wait until the sidebar shows these states."""
        for name, state in states.items():
            expect(self.step(name)).to_have_attribute("data-state", state)

    def kernel_pid(self) -> int:
        """Return the process of the notebook's kernel."""
        kernel_id = self.page.evaluate(f"{CURRENT}.sessionContext.session.kernel.id")
        # the newest, should the one before it be about to end
        found = self.lab.kernels(kernel_id)
        return max(found, key=psutil.Process.create_time).pid

    def kill_kernel(self):
        """Kill the notebook's kernel as the system does when memory runs out."""
        os.kill(self.kernel_pid(), signal.SIGKILL)
        self.answer("Kernel Restarting", "Ok")

    def ledger(self) -> list[str]:
        """Return which steps ran, in the order in which they did."""
        return [line.split()[0] for line in self._ledger()]

    def pids(self) -> list[int]:
        """Return in which processes the steps of the ledger ran."""
        return [int(line.split()[1]) for line in self._ledger()]

    def _ledger(self) -> list[str]:
        path = self.lab.root / "ledger"
        return path.read_text().splitlines() if path.exists() else []

    def stored(self):
        """Return what the command line says of the run: the store, not the page."""
        return self._typed("status")

    def history(self):
        """Return the records of the run, oldest first."""
        return self._typed("history")

    def _typed(self, command):
        done = subprocess.run(
            [sys.executable, "-m", "nbresume", command, self.name, "--json"],
            cwd=self.lab.root,
            env=environment(self.lab.home),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def contrasts(self) -> dict[str, float]:
        """Return how far each text of the sidebar stands out from its background."""
        return self.sidebar.evaluate(CONTRASTS)

    def shoot(self, name):
        """Keep a picture for people; no test compares it."""
        expect(self.page.locator("#jupyterlab-splash")).to_have_count(0)
        SHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SHOTS / f"{name}.png")
