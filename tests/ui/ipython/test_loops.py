"""Resumable loops under IPython: cells with magics around them, and top-level await."""

import pytest

BODY = (
    "from nbresume import resumable\nseen = []\n"
    "for n in resumable(range(6), every=2, bar=False):\n"
    "    seen.append(n)\n    if n == 4 and not done:\n        1 / 0"
)


@pytest.mark.parametrize(
    "around",
    [
        "",
        "%%time\n",
        "import asyncio\nawait asyncio.sleep(0)\n",
        "# a comment\n\n\n",
    ],
)
def test_a_loop_goes_on_whatever_is_around_it(shell, around):
    """After an exception the same cell goes on at the item that was saved."""
    shell.run("done = []", "p")
    cell = f"%%step a\n{around}{BODY}"
    failed = shell.run(cell, "a")
    assert "ZeroDivisionError" in str(type(failed.error)), failed.text
    assert "at item 4 of 6" in shell.run("%steps", "x").text
    shell.run("%%step b\nx = 1", "b")
    # the input is another one now, so it starts from it
    cell = cell.replace("n == 4 and not done", "n == 4 and False")
    ran = shell.run(cell, "a")

    assert ran.ok, ran.text
    assert shell.ip.user_ns["seen"] == list(range(6))


def test_a_loop_may_stand_below_a_capture(shell):
    """The magic runs the body as a cell inside the cell."""
    ran = shell.run(f"%%step a\n%%capture\ndone = [1]\n{BODY}", "a")

    assert ran.ok, ran.text
    assert shell.kinds().count("progress") == 2


def test_a_bar_of_a_terminal_is_kept_apart_from_the_result(shell):
    """The loop goes on with its bar, in a shell without a kernel too."""
    ran = shell.run(f"done = [1]\n{BODY}".replace("bar=False", ""), "p")
    assert "begins with %%step NAME" in ran.text
    ran = shell.run(f"%%step a\ndone = [1]\n{BODY}".replace(", bar=False", ""), "a")

    assert ran.ok, ran.text
    assert "6/6" in ran.text


def test_pages_are_told_how_far_it_is(shell):
    """In a message that older pages know; it says how far the loop has come."""
    told = []
    pages = shell.ip._nbresume.pages

    class Comm:
        def send(self, event: dict) -> None:
            told.append(event)

        def close(self) -> None:
            pass

    pages._comms.append(Comm())
    shell.run(f"%%step a\ndone = [1]\n{BODY}", "a")
    progress = [event["progress"] for event in told if "progress" in event]

    assert progress == [
        {"a": {"position": n, "total": 6, "text": f"at item {n} of 6"}} for n in (2, 4)
    ]
    assert {event["event"] for event in told} == {"session", "step"}
