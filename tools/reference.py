"""Write the tables of the reference that the code itself can give.

In a page, what stands between ``<!-- generated: WHAT -->`` and ``<!-- end -->`` is
made here: of the commands that click knows, the parser of ``%%step``, the settings,
the numbers and the kinds of records. ``docs/conf.py`` fills the pages whenever the
manual is built; this script writes them into the files, for those who read those.

reference.py [--check]
"""

import argparse
import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from types import ModuleType, SimpleNamespace

import click

from nbresume import compose, settings
from nbresume.model.codec import SCHEMAS
from nbresume.plan.header import _parser
from nbresume.run import metrics
from nbresume.settings import MIB, Settings
from nbresume.ui import prometheus
from nbresume.ui.cli import cli
from nbresume.ui.ipython.steps import steps

DOCS = Path(__file__).resolve().parents[1] / "docs"
_PLACE = re.compile(
    r"(<!-- generated: (?P<what>[^\n]+?) -->\n).*?(<!-- end -->)", re.DOTALL
)


def fill(page: str) -> str:
    """Return a page with every generated part made anew."""
    return _PLACE.sub(lambda found: _filled(found, page), page)


def _filled(found: re.Match[str], page: str) -> str:
    kind, _, about = found["what"].partition(" ")
    if kind not in _MAKERS:
        known = ", ".join(_MAKERS)
        message = f"nothing generates {found['what']!r}; there are {known}"
        raise ValueError(message)
    return f"{found[1]}\n{_MAKERS[kind](about, page)}\n\n{found[3]}"


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(head), *map(list, rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")


# -- commands and magics -----------------------------------------------------------


def _group(name: str) -> click.Group:
    return {"nbresume": cli, "%steps": steps}[name]


def _commands(name: str, page: str) -> str:
    commands = sorted(_group(name).commands.items())
    rows = (
        (_linked(f"{name} {word}", page), command.get_short_help_str(200))
        for word, command in commands
    )
    return _table(("command", "what it does"), rows)


def _linked(command: str, page: str) -> str:
    """Return a command as a link to its section; as GitHub and MyST make anchors."""
    found = re.search(rf"^## (`{command}\b.*)$", page, re.MULTILINE)
    if found is None:
        return f"`{command}`"
    anchor = re.sub(r"[^\w\- ]", "", found[1].lower()).replace(" ", "-")
    return f"[`{command}`](#{anchor})"


def _options(name: str, _page: str) -> str:
    if name == "%%step":
        rows = ((_header_option(one), one.help or "") for one in _header_options())
        return _table(("option", "meaning"), rows)
    group, _, word = name.partition(" ")
    command = _group(group).commands[word] if word else _group(group)
    rows = ((_option(one), one.help or "") for one in _click_options(command))
    return _table(("option", "meaning"), rows)


def _header_options() -> Iterator[argparse.Action]:
    return (one for one in _parser()._actions if one.help)  # noqa: SLF001 - no other way


def _header_option(action: argparse.Action) -> str:
    return f"`{' '.join(filter(None, (action.option_strings[0], action.metavar)))}`"


def _click_options(command: click.Command) -> Iterator[click.Option]:
    return (one for one in command.params if isinstance(one, click.Option))


def _option(option: click.Option) -> str:
    value = "" if option.is_flag else f" {_value(option)}"
    return ", ".join(f"`{name}{value}`" for name in option.opts)


def _value(option: click.Option) -> str:
    if option.metavar:
        return option.metavar
    if isinstance(option.type, click.Choice):
        return "|".join(option.type.choices)
    return option.type.name.upper()


# -- settings ----------------------------------------------------------------------


def _settings(_about: str, _page: str) -> str:
    variables, told = _variables(), _docstrings(settings, "Settings")
    default = Settings()
    rows = (
        (
            f"`{field.name}`",
            f"`{variable}`" if (variable := variables.get(field.name, "")) else "none",
            _default(getattr(default, field.name), variable),
            told[field.name],
        )
        for field in fields(Settings)
    )
    return _table(("field", "variable", "default", "meaning"), rows)


def _default(value: object, variable: str) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and variable.endswith("_MB"):
        return str(value // MIB)
    return f"`{value}`" if str(value) else "empty"


def _variables() -> dict[str, str]:
    """Return the variable from which ``compose`` reads each field."""
    tree = ast.parse(inspect.getsource(compose))
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    made = (
        c for c in calls if isinstance(c.func, ast.Name) and c.func.id == "Settings"
    )
    return {
        keyword.arg: text
        for call in made
        for keyword in call.keywords
        for node in ast.walk(keyword.value)
        if keyword.arg
        and isinstance(node, ast.Constant)
        and str(text := node.value).startswith("NBRESUME_")
    }


def _policies(name: str, _page: str) -> str:
    kind = getattr(settings, name)
    told = _docstrings(settings, name)
    return _table(("value", "meaning"), ((f"`{m.value}`", told[m.name]) for m in kind))


def _docstrings(module: ModuleType, name: str) -> dict[str, str]:
    """Return the string below each field of a class, which Python does not keep."""
    tree = ast.parse(inspect.getsource(module))
    [body] = [
        node.body
        for node in tree.body
        if isinstance(node, ast.ClassDef) and node.name == name
    ]
    found: dict[str, str] = {}
    for above, below in zip(body, [*body[1:], ast.Pass()], strict=True):
        match above:
            case ast.AnnAssign(target=ast.Name(id=field)):
                found[field] = _text(below)
            case ast.Assign(targets=[ast.Name(id=field)]):
                found[field] = _text(below)
    return found


def _text(node: ast.stmt) -> str:
    match node:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return text.replace("``", "`")
    return ""


# -- numbers and records -----------------------------------------------------------


def _metrics(_about: str, _page: str) -> str:
    """Return every number as it is exposed, beside its name in the RunView."""
    numbers = dict.fromkeys(metrics.Metrics.__struct_fields__, 0)
    view = SimpleNamespace(
        run_id="",
        workflow="",
        metrics=metrics.Metrics(**numbers),
        steps=[SimpleNamespace(name="", payload_bytes=0, attempts=0)],
    )
    shown = prometheus.exposed(view)  # type: ignore[arg-type]
    told = dict(re.findall(r"^# HELP (\S+) (.*)$", shown, re.MULTILINE))
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", shown, re.MULTILINE))
    labels = dict(re.findall(r"^(\w+)\{(.*)\} ", shown, re.MULTILINE))
    rows = (
        (
            f"`{name}`",
            kind,
            ", ".join(f"`{label}`" for label in re.findall(r"(\w+)=", labels[name])),
            f"`{plain}`" if (plain := _in_view(name)) in numbers else "of each step",
            told[name],
        )
        for name, kind in sorted(kinds.items())
    )
    return _table(("exposed as", "type", "labels", "in the RunView", "meaning"), rows)


def _in_view(name: str) -> str:
    plain = name.removeprefix("nbresume_").removesuffix("_total")
    return plain.replace("_seconds", "_s")


def _records(_about: str, _page: str) -> str:
    rows = (
        (f"`{kind}`", str(version), _first_line(cls))
        for kind, versions in sorted(SCHEMAS.items())
        for version, cls in sorted(versions.items())
    )
    return _table(("kind", "schema", "what it says"), rows)


def _first_line(cls: type) -> str:
    return (inspect.getdoc(cls) or "").partition("\n\n")[0].replace("``", "`")


_MAKERS: dict[str, Callable[[str, str], str]] = {
    "commands": _commands,
    "metrics": _metrics,
    "options": _options,
    "policies": _policies,
    "records": _records,
    "settings": _settings,
}


def main() -> int:
    """Write the pages; with ``--check`` only name those that are behind the code."""
    check = "--check" in sys.argv[1:]
    behind = 0
    for path in sorted(DOCS.rglob("*.md")):
        page = path.read_text(encoding="utf-8")
        if (filled := fill(page)) != page:
            behind += 1
            verb = "is behind the code" if check else "is written"
            print(f"{path.relative_to(DOCS.parent)} {verb}")
            if not check:
                path.write_text(filled, encoding="utf-8")
    return 1 if check and behind else 0


if __name__ == "__main__":
    sys.exit(main())
