"""The documents name what exists, and what they show works."""

import ast
import re
import tomllib
from dataclasses import fields
from pathlib import Path

import click
import pytest
from IPython.core.inputtransformer2 import TransformerManager

import nbresume
from nbresume.errors import ErrorKind
from nbresume.model.codec import SCHEMAS
from nbresume.model.states import State
from nbresume.plan.header import USAGE, body_of, header_of
from nbresume.run.metrics import Metrics
from nbresume.settings import READ_ONLY_PROGRAMS, Settings
from nbresume.store.layout import FORMAT
from nbresume.ui.cli import cli
from nbresume.ui.ipython.steps import steps

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "kernel_ext" / "nbresume"
TOP = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")
PAGES = [*(ROOT / name for name in TOP), *sorted((ROOT / "docs").rglob("*.md"))]
REFERENCE = ROOT / "docs" / "reference"
PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CELL = re.compile(
    r"^```(?:ipython|text)\n((?:%%step|%load_ext).*?)^```$", re.MULTILINE | re.DOTALL
)
COMMAND = re.compile(r"^ *\$ (?:[A-Z_]+=\S+ )*nbresume ([a-z-]+)(.*)$", re.MULTILINE)
TYPED = re.compile(r"(?<![\w%])%steps ([a-z]+)")


def read(name):
    """Return a document."""
    return (ROOT / name).read_text(encoding="utf-8")


def reference(name):
    """Return a page of the reference."""
    return (REFERENCE / name).read_text(encoding="utf-8")


def section(page, title):
    """Return what stands under the heading that begins with a title."""
    found = re.search(
        rf"^## `{re.escape(title)}[ `].*?(?=^## |\Z)", page, re.MULTILINE | re.DOTALL
    )
    return found[0] if found else ""


def options(command):
    """Return the options of a command as they are typed."""
    return [
        name
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for name in parameter.opts
    ]


def undocumented(names, text):
    """Return the names that a text does not have as words of their own."""
    return [
        name
        for name in names
        if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)
    ]


def modules():
    """Return all modules of the package, as ARCHITECTURE.md writes them."""
    return {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py")}


def python_blocks(path):
    """Return the Python examples of a document."""
    return PYTHON_BLOCK.findall(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_every_command_is_documented(name):
    """Each command has a section, and its options stand in it."""
    found = section(reference("commands.md"), f"nbresume {name}")

    assert found
    assert undocumented(options(cli.commands[name]), found) == []


def test_options_of_the_command_itself_are_documented():
    """``--version`` and ``--help`` are in the reference."""
    page = reference("commands.md")

    assert undocumented([*options(cli), "--help"], page) == []


@pytest.mark.parametrize("name", sorted(steps.commands))
def test_every_magic_command_is_documented(name):
    """Each ``%steps`` command has a section, and its options stand in it."""
    found = section(reference("magics.md"), f"%steps {name}")

    assert found
    assert undocumented(options(steps.commands[name]), found) == []


def test_options_of_the_table_are_documented():
    """``%steps --json`` is in the reference."""
    page = reference("magics.md")

    assert undocumented(options(steps), section(page, "%steps")) == []


def test_every_option_of_a_step_is_documented():
    """The README and the reference know each option of ``%%step``."""
    found = re.findall(r"--[a-z]+", USAGE)

    assert found
    assert undocumented(found, section(reference("magics.md"), "%%step")) == []
    assert undocumented(found, read("README.md")) == []


def test_the_readme_names_every_command():
    """Both short lists in the README are complete."""
    text = read("README.md")

    assert undocumented(cli.commands, text) == []
    assert undocumented([f"%steps {name}" for name in steps.commands], text) == []


def test_no_command_is_documented_that_does_not_exist():
    """A section about a command that is gone is found."""
    titles = re.compile(r"^## `(nbresume|%steps) ([a-z-]+)", re.MULTILINE)
    pages = reference("commands.md") + reference("magics.md")
    documented = set(titles.findall(pages))
    existing = {("nbresume", name) for name in cli.commands}
    existing |= {("%steps", name) for name in steps.commands}

    assert documented == existing


def test_every_error_code_is_documented():
    """The table of errors has one row for each code, and no other."""
    rows = re.findall(r"^\| `([a-z-]+)` \|", reference("errors.md"), re.MULTILINE)

    assert sorted(rows) == sorted(kind.value for kind in ErrorKind)


def test_every_audit_event_is_documented():
    """The table of audit events has one row for each event in the code."""
    rows = re.findall(
        r"^\| `(nbresume\.\w+)` \|", reference("audit-events.md"), re.MULTILINE
    )
    code = "".join(path.read_text() for path in sorted(PACKAGE.rglob("*.py")))
    raised = re.findall(r'sys\.audit\(\s*"(\S+)"', code)

    assert sorted(rows) == sorted(set(raised))
    assert len(re.findall(r"\baudit\(", code)) == len(raised)


def test_every_setting_is_documented():
    """The table of settings has one row for each field, and no other."""
    made = reference("settings.md").split("generated: settings")[1].split("end -->")[0]
    rows = re.findall(r"^\| `(\w+)` \|", made, re.MULTILINE)

    assert sorted(rows) == sorted(field.name for field in fields(Settings))


def test_every_metric_is_documented():
    """Each number of the RunView, and each one that is exposed, has a row."""
    # the server's own stand below: tests/ui/server/test_numbers.py
    page = reference("metrics.md").partition("## On the server's page")[0]
    code = (PACKAGE / "ui" / "prometheus.py").read_text(encoding="utf-8")
    named = re.findall(r'^    "(\w+)":', code, re.MULTILINE)
    exposed = {f"nbresume_{name}" for name in named}
    exposed |= set(re.findall(r'"(nbresume_\w+)"', code))

    rows = re.findall(r"^\| `(nbresume_\w+?)(?:_total)?` \|", page, re.MULTILINE)

    assert undocumented(Metrics.__struct_fields__, page) == []
    assert sorted(rows) == sorted(exposed)


def test_every_kind_of_record_is_documented():
    """The explanation of the store names each kind and its schema versions."""
    page = read("docs/explanation/store-format.md")
    rows = re.findall(r"^\| `(nbresume\.\w+)` \| (\d+) \|", page, re.MULTILINE)

    kinds = [(kind, str(v)) for kind, versions in SCHEMAS.items() for v in versions]
    assert sorted(rows) == sorted(kinds)


def test_every_state_is_explained():
    """The explanation of states has one row for each, in the words of the tables."""
    page = read("docs/explanation/states.md")
    rows = re.findall(r"^\| `([a-z ]+)` \|", page, re.MULTILINE)

    # it has a name and is given to no step yet: a damaged one runs again
    named = {
        state.lower().replace("_", " ") for state in State if state != "QUARANTINED"
    }
    assert sorted(rows) == sorted(named)


def test_every_public_name_has_its_signature():
    """The page of signatures, and the page of examples, know each name."""
    signatures, examples = reference("api.md"), reference("python.md")

    assert (
        undocumented([f"nbresume.{name}" for name in nbresume.__all__], signatures)
        == []
    )
    assert (
        undocumented([f"nbresume.{name}" for name in nbresume.__all__], examples) == []
    )


def test_every_read_only_program_is_documented():
    """Whose start is no evidence stands in the reference, by name."""
    found = section(reference("magics.md"), "%%step")

    assert undocumented(READ_ONLY_PROGRAMS, found) == []


VARIABLE = re.compile(r"NBRESUME_[A-Z_]*[A-Z]")


def variables_read():
    """Return the variables of the environment that the layer `compose` reads."""
    modules = sorted((PACKAGE / "compose").glob("*.py"))
    code = "".join(path.read_text(encoding="utf-8") for path in modules)
    return set(VARIABLE.findall(code))


def test_every_variable_is_documented_and_read():
    """The variables of the settings page are those that the code reads."""
    documented = set(VARIABLE.findall(reference("settings.md")))

    assert documented == variables_read()


def test_no_layer_knows_a_variable_that_compose_does_not_read():
    """A variable of ours that only another layer knew would be in no table."""
    code = "".join(path.read_text() for path in sorted(PACKAGE.rglob("*.py")))

    assert set(VARIABLE.findall(code)) == variables_read()


def test_no_page_names_a_variable_that_is_not_read():
    """A setting that was renamed is renamed in every document."""
    # one is the tests' own
    own = set(VARIABLE.findall(read("tests/browser/chromium.py")))
    read_by_code = variables_read() | own

    unknown = {
        page.name: found
        for page in PAGES
        if (found := set(VARIABLE.findall(page.read_text())) - read_by_code)
    }

    assert unknown == {}


def test_every_dependency_has_its_reason():
    """Each package in ``pyproject.toml`` stands in docs/dependencies.md."""
    project = tomllib.loads(read("pyproject.toml"))
    extras = project["project"]["optional-dependencies"]
    wanted = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    wanted += [line for lines in extras.values() for line in lines]
    names = [re.split(r"[<>=!~\[; ]", line, maxsplit=1)[0] for line in wanted]
    page = read("docs/dependencies.md")

    assert [name for name in names if f"`{name}`" not in page] == []


def test_the_module_table_is_complete():
    """ARCHITECTURE.md names every module, and none that does not exist."""
    rows = re.findall(r"^\| `([\w/]+\.py)` \|", read("ARCHITECTURE.md"), re.MULTILINE)

    assert sorted(rows) == sorted(modules())


def test_files_that_the_architecture_names_exist():
    """A place to look at, such as ``run/stepper.py``, is there."""
    named = re.findall(r"`((?:tests/)?[\w/]+\.py)[:`]", read("ARCHITECTURE.md"))
    missing = [
        name
        for name in named
        if not (PACKAGE / name).exists() and not (ROOT / name).exists()
    ]

    assert missing == []


def test_every_stored_format_is_in_the_changelog():
    """The changelog names the format of the store and each kind of record."""
    text = read("CHANGELOG.md")

    assert "### Stored format" in text
    assert f"Format {FORMAT} of the store" in text
    assert undocumented(SCHEMAS, text) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_compile(page):
    """Each block that is marked as Python is Python."""
    for block in python_blocks(page):
        compile(block, page.name, "exec")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_cells_are_cells(page):
    """Each cell of a document has a header that is understood, and code below it."""
    for cell in CELL.findall(page.read_text(encoding="utf-8")):
        code = TransformerManager().transform_cell(body_of(cell))
        compile(code, page.name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        if cell.startswith("%%step"):
            assert header_of(cell) is not None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_that_are_shown_exist(page):
    """A command in a document is one, and its options are its own."""
    text = page.read_text(encoding="utf-8")
    for name, rest in COMMAND.findall(text):
        command = cli.commands[name]
        known = {*options(command), "--help"}
        given = re.findall(r"(?<![\w-])--?[a-z][a-z-]*", re.split(r"[|#>;]", rest)[0])
        assert {word for word in given if word not in known} == set()
    assert {name for name in TYPED.findall(text) if name not in steps.commands} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    """Each relative link of a document leads to a file of the project."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text)
    local = [target for target in targets if "://" not in target]

    missing = [target for target in local if not (page.parent / target).exists()]

    assert missing == []


PROMISES = [f"P{number}" for number in range(1, 12)]


@pytest.mark.parametrize("promise", PROMISES)
def test_tests_that_prove_a_promise_exist(promise):
    """Each promise is linked to tests that are there, or is said to be missing."""
    page = read("docs/promises.md")
    [row] = re.findall(rf"^\| {promise} \|.*$", page, re.MULTILINE)
    names = re.findall(r"`(test_\w+)`", row)
    files = re.findall(r"\]\(\.\./(tests/[^)]+)\)", row)
    code = "".join(read(name) for name in files)
    missing = [name for name in names if f"def {name}(" not in code]

    assert (names and files) or "not promised yet" in row
    assert missing == []


def test_pages_of_the_docs_are_linked():
    """Every page can be reached from another one."""
    linked = {
        (page.parent / target).resolve()
        for page in PAGES
        for target in re.findall(r"\]\(([^)#:]+\.md)", page.read_text())
    }

    assert set(PAGES) - linked <= {ROOT / "README.md", ROOT / "docs" / "index.md"}


def run_examples(blocks):
    """Run examples, each on its own, in the folder that is current."""
    for block in blocks:
        exec(compile(block, "docs/reference/python.md", "exec"), {})  # noqa: S102 - the example


def test_checkpoint_examples_run(tmp_path, monkeypatch, capsys):
    """What the reference shows of ``CheckpointStore`` works as it stands."""
    monkeypatch.chdir(tmp_path)
    blocks = python_blocks(REFERENCE / "python.md")
    examples = [block for block in blocks if "open_checkpoints" in block]

    run_examples(examples)

    assert len(examples) > 1
    assert "revision 0 was expected, 1 was found" in capsys.readouterr().out


@pytest.mark.kernel
def test_all_python_examples_run(tmp_path, monkeypatch, capsys):
    """The Python reference works from top to bottom, in one folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)

    run_examples(python_blocks(REFERENCE / "python.md"))

    assert " load ['pack']" in capsys.readouterr().out


def test_python_blocks_of_the_readme_run(tmp_path, monkeypatch):
    """Blocks of the README that are marked as Python are whole programs."""
    monkeypatch.chdir(tmp_path)

    for block in python_blocks(ROOT / "README.md"):
        exec(compile(block, "README.md", "exec"), {})  # noqa: S102 - the example
