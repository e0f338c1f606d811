"""Spans of OpenTelemetry: what is told, what is not, and that nothing is imported."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from nbresume.ui.ipython import spans as ours

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "spans.md"
PAY = (
    "%%step pay\nfrom nbresume import effect\n"
    "def charge(card): return card * 2\n"
    "r = effect('charge-17', charge, 4711)"
)


@pytest.fixture
def told(monkeypatch):
    """Return what gives the ended spans, oldest first, and forgets them."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)

    def ended():
        found = exporter.get_finished_spans()
        exporter.clear()
        return found

    return ended


def how(span):
    """Return a span's name and how it ended."""
    return span.name, span.attributes.get("nbresume.how", "")


def test_a_step_that_ran_and_one_that_was_replayed(shell, told):
    """Run, attempt and revision are those of the records."""
    shell.save("%%step a\nx = 4711")
    assert shell.run("%%step a\nx = 4711", "c0").ok
    (ran,) = told()
    assert shell.run("%%step a\nx = 4711", "c0").ok
    (again,) = told()
    (chain,) = (shell.store / "journal").iterdir()

    assert (how(ran), how(again)) == (("step a", "ran"), ("step a", "replayed"))
    assert dict(ran.attributes) == {
        "nbresume.run": chain.name,
        "nbresume.step": "a",
        "nbresume.attempt": again.attributes["nbresume.attempt"],
        "nbresume.how": "ran",
        "nbresume.revision": 2,
    }
    assert again.attributes["nbresume.revision"] == 2
    assert ran.status.is_ok
    assert ran.end_time > ran.start_time


def test_the_body_runs_below_the_span(shell, told):
    """A library's span stands below that of the step; the next cell's does not."""
    code = (
        "from opentelemetry import trace\n"
        "with trace.get_tracer('t').start_as_current_span('mine'): pass"
    )
    shell.save(f"%%step a\n{code}", code)
    assert shell.run(f"%%step a\n{code}", "c0").ok
    mine, step = told()
    assert shell.run(code, "c1").ok
    (after,) = told()

    assert mine.parent.span_id == step.context.span_id
    assert after.parent is None


@pytest.mark.parametrize("top", ["", "import asyncio\nawait asyncio.sleep(0)\n"])
def test_effects_stand_below_their_step(shell, told, top, caplog):
    """A call has a span; a replayed effect has none. In cells that await, too."""
    shell.save(PAY)
    code = PAY.replace("from nbresume", top + "from nbresume", 1)
    assert shell.run(code, "c0").ok
    effect, step = told()
    assert shell.run(f"{code}\nq = 1", "c0").error is not None
    (refused,) = told()

    assert how(step) == ("step pay", "ran")
    assert effect.name == "effect"
    assert dict(effect.attributes) == {"nbresume.effect": "charge-17"}
    assert effect.parent.span_id == step.context.span_id
    assert how(refused) == ("step pay", "refused")
    assert caplog.records == []


def test_an_effect_in_a_thread_of_the_step(shell, told):
    """A thread has no current span; the effect stands below the step all the same."""
    code = (
        "%%step a\nfrom nbresume import effect\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(1) as pool:\n"
        "    r = pool.submit(effect, 'mail', int).result()"
    )
    shell.save(code)
    assert shell.run(code, "c0").ok, shell.run("r").text
    effect, step = told()

    assert effect.parent.span_id == step.context.span_id


@pytest.mark.parametrize("kind", ["failed", "refused", "interrupted"])
def test_errors_are_the_status_and_have_no_text(shell, told, kind):
    """The class of the exception is told; its text may hold a value, and is not."""
    code = {
        "failed": "raise ValueError('secret 4711')",
        "refused": "print(_)",
        "interrupted": "raise KeyboardInterrupt('secret 4711')",
    }[kind]
    shell.save(f"%%step a\n{code}")
    shell.run(f"%%step a\n{code}", "c0")
    (span,) = told()

    expected = {
        "failed": "ValueError",
        "refused": "RefusedError",
        "interrupted": "KeyboardInterrupt",
    }
    assert how(span) == ("step a", kind)
    assert span.status.status_code is trace.StatusCode.ERROR
    assert span.status.description == expected[kind]
    assert span.attributes["error.type"] == expected[kind]
    assert "secret" not in span.to_json()
    assert span.events == ()


def test_a_definite_failure_of_an_effect(shell, told):
    """Its span has the class of the exception, and not its text."""
    code = (
        "%%step a\nfrom nbresume import effect\n"
        "def declined(): raise LookupError('secret 4711')\n"
        "effect.using(definite=LookupError)('charge', declined)"
    )
    shell.save(code)
    shell.run(code, "c0")
    effect, step = told()

    assert (effect.status.description, step.status.description) == ("LookupError",) * 2
    assert "secret" not in effect.to_json() + step.to_json()


def test_a_span_that_cannot_be_told_fails_no_cell(shell, monkeypatch):
    """A broken exporter or an API of another release costs the span, not the step."""

    def broken(*_):
        raise RuntimeError

    monkeypatch.setattr(trace, "get_tracer", broken)
    shell.save(PAY)
    ran = shell.run(PAY, "c0")

    assert ran.ok, ran.text
    assert shell.kinds()[-1] == "committed"


def test_nothing_is_imported_for_it(tmp_path):
    """A kernel whose notebook does not use OpenTelemetry does not load it."""
    script = (
        "import os, sys\n"
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "os.environ['NBRESUME_RUN'] = 'r'\n"
        "ip = InteractiveShell.instance()\n"
        "for cell in ('%load_ext nbresume', '%%step a\\nx = 1', '%%step a\\nx = 1'):\n"
        "    assert ip.run_cell(cell).success\n"
        "print([n for n in sys.modules if n.startswith('opentelemetry')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.splitlines()[-1] == "[]"


def test_every_attribute_is_documented():
    """The page names each attribute that the code sets, and no other."""
    attribute = re.compile(r'"((?:nbresume|error)\.[a-z]+)"')
    code = set(attribute.findall(Path(ours.__file__).read_text())) - {"nbresume.ui"}
    rows = set(re.findall(r"\| `((?:nbresume|error)\.[a-z]+)` \|", PAGE.read_text()))

    assert rows == code
