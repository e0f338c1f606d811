"""What people write into a step, in one real kernel: it runs, shows and replays."""

import time

import pytest
from real_kernel import LOAD, Kernel, kinds

pytestmark = pytest.mark.kernel


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    """Return one warm kernel for all tests of this file."""
    with Kernel(tmp_path_factory.mktemp("cells")) as kernel:
        kernel.ok(LOAD, "load")
        yield kernel


@pytest.fixture
def step(kernel, request):
    """Return what runs a body as a step of this test's own."""
    name = request.node.name.replace("[", "-").replace("]", "")[5:60]

    def run(body, options=""):
        return kernel.run(f"%%step {name} {options}\n{body}", f"cell-{name}")

    return run


def check_replays(step, body):
    """Run a body twice: it runs, then replays; return both."""
    first, second = step(body), step(body)
    assert first.status == "ok", first.text
    assert second.status == "ok", second.text
    assert "[restored]" not in first.text
    assert "[restored]" in second.text, second.text
    return first, second


def test_time_runs_and_replays(step, kernel):
    """`%%time` under `%%step` times the body and keeps what it bound."""
    first, second = check_replays(step, "%%time\ntimed = 21 * 2\n")

    assert "Wall time" in first.text
    assert "Wall time" in second.text
    assert kernel.evaluate("timed") == "42"


def test_capture_runs_and_replays(step, kernel):
    """`%%capture out` keeps the captured text and the names bound."""
    check_replays(step, "%%capture out\nprint('quiet')\ncaptured = 1\n")

    assert kernel.evaluate("captured") == "1"
    assert kernel.evaluate("out.stdout") == repr("quiet\n")


def test_bash_runs_once(step, kernel):
    """`%%bash` shows its output, on replay too, and runs once."""
    body = f"%%bash\necho hello\necho x >> {kernel.folder}/bash.log\n"
    first, second = check_replays(step, body)

    assert "hello" in first.text
    assert "hello" in second.text
    assert (kernel.folder / "bash.log").read_text() == "x\n"


def test_a_shell_line_runs_once(step, kernel):
    """`!echo` shows its output, on replay too, and runs once."""
    body = f"!echo hello; echo x >> {kernel.folder}/shell.log\nlisted = !echo a b"
    first, second = check_replays(step, body)

    assert "hello" in first.text
    assert "hello" in second.text
    assert (kernel.folder / "shell.log").read_text() == "x\n"
    assert kernel.evaluate("list(listed)") == "['a b']"


def test_a_line_magic_runs(step, kernel):
    """`%time` in a step times its expression and keeps its name."""
    first, _ = check_replays(step, "%time line_timed = sum(range(10))")

    assert "Wall time" in first.text
    assert kernel.evaluate("line_timed") == "45"


def test_top_level_await(step, kernel):
    """A step may await at its top level."""
    body = "import asyncio\nawait asyncio.sleep(0.01)\nawaited = 7\nawaited"
    first, second = check_replays(step, body)

    assert first.text == "7\n"
    assert second.text.endswith("7\n")
    assert kernel.evaluate("awaited") == "7"


def test_async_comprehension_and_generator(step, kernel):
    """A step may define an async generator and read it."""
    body = (
        "async def numbers():\n    for i in range(3):\n        yield i\n"
        "collected = [i async for i in numbers()]"
    )
    check_replays(step, body)

    assert kernel.evaluate("collected") == "[0, 1, 2]"


def test_an_async_generator_object_is_not_kept(step, kernel):
    """A generator that is bound cannot be kept: it is named at commit."""
    body = "async def ticks():\n    yield 1\nheld_generator = ticks()"
    first = step(body)

    assert first.status == "ok", first.text
    assert "without held_generator" in first.text


def test_a_cancelled_await_is_an_interrupted_attempt(step, kernel):
    """An await that is cancelled ends the step as failed; it may run again."""
    body = "import asyncio\nwaiting = True\nawait asyncio.sleep({})\nend = 1"
    request = kernel.send(f"%%step cancelled\n{body.format(2)}", "cell-cancelled")
    until = time.monotonic() + 20
    while "intent" not in kinds(kernel.folder / ".nbresume")[-1:]:
        assert time.monotonic() < until
        time.sleep(0.02)
    time.sleep(0.3)
    kernel.interrupt()
    said = kernel.finish(request)

    assert said.status == "error"
    assert kinds(kernel.folder / ".nbresume")[-1] == "failed"
    again = kernel.run(f"%%step cancelled\n{body.format(0)}", "cell-cancelled")
    assert again.status == "ok", again.text


def test_displays_and_updates(step):
    """Displays are shown again as they ended, marked as restored."""
    body = (
        "from IPython.display import display, HTML\n"
        "handle = display(HTML('<b>one</b>'), display_id='d1')\n"
        "print('between')\n"
        "handle.update(HTML('<b>two</b>'))\n"
        "del handle\n"
        "'result'"
    )
    _, second = check_replays(step, body)

    shown = second.bundles()
    assert shown[0]["data"]["text/html"] == "<b>two</b>"
    assert shown[-1]["data"]["text/plain"] == "'result'"
    assert all(b["metadata"]["nbresume"] == {"restored": True} for b in shown)
    assert second.streams("stdout").endswith("between\n")


def test_clear_output(step):
    """What a step cleared is not shown again."""
    body = (
        "from IPython.display import clear_output\n"
        "for i in range(3):\n    clear_output(wait=True)\n    print('progress', i)"
    )
    _, second = check_replays(step, body)

    assert "progress 2" in second.text
    assert "progress 0" not in second.text
    assert "progress 1" not in second.text


def test_carriage_returns(step):
    """A progress bar is shown again as its last state."""
    body = "for i in range(3):\n    print(f'\\r{i}0 %', end='')\nprint()"
    _, second = check_replays(step, body)

    assert "20 %" in second.text
    assert "10 %" not in second.text


def test_a_logging_handler_made_before(step, kernel):
    """A logger whose handler was made before the step is shown live and again."""
    kernel.ok(
        "import logging, sys\nlog = logging.getLogger('mine')\n"
        "log.addHandler(logging.StreamHandler())\nlog.setLevel('INFO')\ndel log",
        "plain-log",
    )
    body = "import logging\nlogging.getLogger('mine').info('logged')\nlogged = 1"
    first, second = check_replays(step, body)

    assert first.streams("stderr") == "logged\n"
    assert second.streams("stderr") == "logged\n"


def test_the_order_of_two_streams(step):
    """Standard output and error come again in the order in which they came."""
    body = "import sys\nprint('one')\nprint('two', file=sys.stderr)\nprint('three')"
    first, second = check_replays(step, body)

    # live, the kernel itself sends what each stream has gathered
    assert first.streams("stdout") == "one\nthree\n"
    assert first.streams("stderr") == "two\n"
    assert second.text.endswith("one\ntwo\nthree\n")


def test_a_thread_that_prints(step):
    """What a thread prints during the step belongs to the step."""
    body = (
        "import threading\n"
        "t = threading.Thread(target=lambda: print('from a thread'))\n"
        "t.start()\nt.join()\ndel t"
    )
    first, second = check_replays(step, body)

    assert "from a thread" in first.text
    assert "from a thread" in second.text


def test_input_is_asked_once(step, kernel):
    """`input()` asks when the step runs, never on replay."""
    kernel.answers = ["Ada"]
    body = "answered = input('name? ')"
    check_replays(step, body)

    assert kernel.evaluate("answered") == "'Ada'"
    assert kernel.answers == []


def test_system_exit_is_a_failure(step, kernel):
    """A step that exits is failed, not committed; the kernel goes on."""
    said = step("before_exit = 1\nraise SystemExit(3)")

    assert kinds(kernel.folder / ".nbresume")[-1] == "failed"
    assert said.status == "error"
    assert step("after_exit = 2").status == "ok"


def test_a_syntax_error_leaves_nothing(step, kernel):
    """A step that is no Python writes nothing and blocks nothing."""
    before = kinds(kernel.folder / ".nbresume")

    said = step("x = )")

    assert said.status == "error"
    assert "SyntaxError" in said.text
    assert kinds(kernel.folder / ".nbresume") == before


def test_return_outside_a_function(step, kernel):
    """A body that does not compile is an error, and leaves no attempt open."""
    said = step("returned = 1\nreturn returned")

    assert said.status == "error"
    assert kinds(kernel.folder / ".nbresume")[-1] != "intent"
    assert step("returned = 1").status == "ok"


@pytest.mark.parametrize("name", ["_", "__", "_1", "Out", "_i", "In"])
def test_reading_results_of_other_cells_is_refused(step, kernel, name):
    """A step that reads a result that no commit keeps is refused, with a remedy."""
    kernel.ok("1 + 1", "plain-result")
    before = kinds(kernel.folder / ".nbresume")

    said = step(f"used = {name}")

    assert said.status == "error"
    assert f"it reads {name}" in said.error
    assert "Bind that result to a name" in said.error
    assert kinds(kernel.folder / ".nbresume") == before


def test_underscore_that_the_step_binds_is_fine(step):
    """`_` as a name that the step itself binds is no result of another cell."""
    check_replays(step, "for _ in range(3):\n    pass\nfirst, *_ = 1, 2, 3")


def test_underscore_after_a_replay(step, kernel):
    """After a replay `_` is the step's own result or an error, never an older one."""
    kernel.ok("'older'", "plain-older")
    check_replays(step, "shown_value = 5\nshown_value")

    said = kernel.run("_", "plain-after")

    assert "older" not in said.text
    assert said.status == "error" or said.text == "5\n"


def test_reset_in_a_plain_cell(step, kernel):
    """After `%reset -f` the next run replays what it needs and goes on."""
    body = "reset_source = [1, 2, 3]"
    check_replays(step, body)
    kernel.ok("%reset -f", "plain-reset")

    again = step(body)

    assert "[restored]" in again.text, again.text
    assert kernel.evaluate("reset_source") == "[1, 2, 3]"
    below = kernel.run("%%step below_reset\nc = len(reset_source)", "below")
    assert below.status == "ok", below.text


def test_reset_in_a_step(step, kernel):
    """A step that resets the namespace commits the deletions and replays them."""
    kernel.ok("will_go = 1", "plain-go")

    check_replays(step, "%reset -f")

    assert kernel.evaluate("will_go").startswith("NameError")
    assert kernel.run("%%step after_reset\nd = 1", "after").status == "ok"


def test_star_imports(step, kernel):
    """Names of a star import are there after a replay."""
    check_replays(step, "from math import *\nroot = sqrt(16)")

    assert kernel.evaluate("(root, floor(2.5))") == "(4.0, 2)"


def test_deleting_names(step, kernel):
    """A name that a step deletes is gone after its replay as well."""
    source = "%%step del_source\ndeleted_later = [1]\nkept_name = 2"
    kernel.ok(source, "del-source")
    body = "total = sum(deleted_later)\ndel deleted_later"
    check_replays(step, body)

    assert kernel.evaluate("deleted_later").startswith("NameError")
    kernel.ok(source, "del-source")
    assert kernel.evaluate("deleted_later") == "[1]"
    assert "[restored]" in step(body).text
    assert kernel.evaluate("deleted_later").startswith("NameError")


def test_exceptions_keep_their_traceback(step):
    """A step that raises shows the author's own lines, not those of nbresume."""
    said = step("def inner():\n    raise ValueError('mine')\ninner()")

    assert said.status == "error"
    assert said.error == "ValueError: mine"
    assert "inner()" in said.text
    assert "/nbresume/" not in said.text


def test_a_plain_client_without_cell_ids(kernel):
    """Steps work and replay when the front end sends no cell ids."""
    code = "%%step no_ids\nwithout_id = 3"

    first, second = kernel.run(code), kernel.run(code)

    assert first.status == "ok", first.text
    assert "[restored]" in second.text


def test_a_silent_request(kernel):
    """A silent step is refused in a kernel as well."""
    said = kernel.run("%%step silent_one\nsilent_x = 1", silent=True)

    assert said.status == "error"
    assert "silently" in said.error
    assert kernel.evaluate("silent_x").startswith("NameError")


def test_is_complete_and_complete_run_nothing(kernel):
    """Questions of a front end about a step run nothing and write nothing."""
    before = kinds(kernel.folder / ".nbresume")

    complete = kernel.ask("is_complete", code="%%step asked\nasked_x = 1\n\n")
    open_ = kernel.ask("is_complete", code="%%step asked\nfor i in range(2):")
    found = kernel.ask("complete", code="%%step asked\nimpor", cursor_pos=18)

    assert complete["status"] == "complete"
    assert open_["status"] == "incomplete"
    assert found["status"] == "ok"
    assert kernel.evaluate("asked_x").startswith("NameError")
    assert kinds(kernel.folder / ".nbresume") == before


def test_an_error_swallowed_by_capture_commits_nothing(kernel):
    """`%%capture` below a step hides that its body raised: the step has FAILED."""
    said = kernel.run("%%step a\n%%capture\nx = 1\n1 / 0\ny = 2", "a")

    assert said.status == "error"
    assert "ZeroDivisionError" in said.error
    assert "FAILED" in kernel.run("%steps").text.upper()


def test_a_step_swallowed_by_capture_is_an_error(kernel):
    """`%%capture` above a step does not hide that the step was refused."""
    said = kernel.run("%%capture out\n%%step hidden\nhidden_x = 1", "hidden")

    assert said.status == "error"
    assert "RefusedError" in said.error
    assert kernel.evaluate("hidden_x").startswith("NameError")
