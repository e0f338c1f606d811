"""JupyterHub: stores per user, and kernels that come up on another node."""

import json
import os
import signal
import time

LOAD = "%load_ext nbresume"
NOTE = (
    "def note(name):\n    with open('ledger.txt', 'a') as file:\n"
    "        file.write(name + '\\n')"
)
A = "%%step a\nnote('a')\nx = [1, 2]"
HANGS = (
    "%%step b\nimport os, time\nnote('b')\n"
    "open('pid', 'w').write(str(os.getpid()))\ntime.sleep(600)"
)
B = "%%step b\nnote('b')\ny = sum(x)"


def save(home, *cells):
    """Save a user's notebook."""
    made = [
        {
            "cell_type": "code",
            "id": f"c{number}",
            "metadata": {},
            "source": source,
            "outputs": [],
            "execution_count": None,
        }
        for number, source in enumerate(cells)
    ]
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    whole = {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": made}
    (home / "nb.ipynb").write_text(json.dumps(whole))


def run(opened, *cells):
    """Run cells; return what each one came to."""
    return [opened.run(code, f"c{number}") for number, code in enumerate(cells)]


def pid_of(home):
    """Return the kernel's pid, once its step has written it."""
    until = time.monotonic() + 60
    while not (home / "pid").exists() or not (home / "pid").read_text():
        assert time.monotonic() < until
        time.sleep(0.05)
    return int((home / "pid").read_text())


def test_a_kernel_on_another_node_goes_on(hub):
    """A node is lost inside a step; on the next one the run is taken over by word."""
    anna = hub.user("anna")
    save(anna.home, LOAD, NOTE, A, HANGS)
    anna.start_on("node-1")
    opened = anna.open("nb.ipynb")
    first = run(opened, LOAD, NOTE, A)
    opened.send(HANGS, "c3")
    os.kill(pid_of(anna.home), signal.SIGKILL)
    opened.close()
    anna.stop()

    save(anna.home, LOAD, NOTE, A, B)
    anna.start_on("node-2")
    opened = anna.open("nb.ipynb")
    again = run(opened, LOAD, NOTE, A, B)
    taken = opened.run("%steps resume --take-over", "c9")
    after = run(opened, LOAD, NOTE, A, B)
    opened.close()
    status, body = anna.get("nbresume/run?path=nb.ipynb")
    view = json.loads(body)

    assert [status for status, _ in first] == ["ok"] * 3, first
    assert "[restored] step a" in again[2][1]
    # from here nobody can tell whether the kernel on the other node is alive
    assert again[3][0] == "error"
    assert "on node-1" in again[3][1]
    assert "--take-over" in again[3][1]
    assert (taken[0], after[3][0]) == ("ok", "ok"), (taken, after)
    assert (anna.home / "ledger.txt").read_text().split() == ["a", "b", "b"]
    assert status == 200
    assert {s["name"]: s["state"] for s in view["steps"]} == {
        "a": "COMMITTED",
        "b": "COMMITTED",
    }
    assert view["claim"]["host"] == "node-2"
    anna.stop()


def test_users_have_stores_and_keys_of_their_own(hub):
    """Neither reads the other's run through the server; each has a key."""
    anna, ben = hub.user("anna"), hub.user("ben")
    for user in (anna, ben):
        save(user.home, LOAD, NOTE, A)
        user.start_on("node-1")
        opened = user.open("nb.ipynb")
        assert [status for status, _ in run(opened, LOAD, NOTE, A)] == ["ok"] * 3
        opened.close()
    runs = {
        user.name: json.loads(user.get("nbresume/run?path=nb.ipynb")[1])["run_id"]
        for user in (anna, ben)
    }
    routes = ("nbresume/run?path=nb.ipynb", "nbresume/step?path=nb.ipynb&step=a")

    assert runs["anna"] != runs["ben"]
    for route in (*routes, "metrics"):
        assert ben.get(route, of=anna)[0] == 403
    sideways = "nbresume/run?path=../anna/nb.ipynb"
    assert ben.get(sideways)[0] == 404
    data = ".local/share/jupyter/nbresume/key"
    keys = [(user.home / data).read_bytes() for user in (anna, ben)]
    assert keys[0] != keys[1]
    for user in (anna, ben):
        user.stop()
