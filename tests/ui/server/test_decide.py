"""Decisions by REST: who may, who it was, and that they are those of the command."""

import json
import shutil
import subprocess
import sys
import time

import pytest
from real_kernel import LOAD, Kernel, hashes, kinds, save

from nbresume.run.view import RunView

pytestmark = pytest.mark.kernel

A = "%%step a\nx = [1, 2]"
SLOW = "%%step b\nimport time\ntime.sleep(60)"
FINE = "%%step c --effects\nsent = 1"

PEOPLE = """
from jupyter_server.auth.authorizer import Authorizer
from jupyter_server.auth.identity import IdentityProvider, User

class People(IdentityProvider):
    known = {"token ada": User("ada", "Ada Lovelace"), "token bob": User("bob", "bob")}

    def get_user(self, handler):
        handler._token_authenticated = True
        return self.known.get(handler.request.headers.get("Authorization", ""))

class AdaWrites(Authorizer):
    def is_authorized(self, handler, user, action, resource):
        return action == "read" or user.username == "ada"

c.ServerApp.identity_provider_class = People
c.ServerApp.authorizer_class = AdaWrites
"""


def decision(folder, how="retry", **more):
    """Return a decision about the step in doubt."""
    told = {"path": f"{folder.name}/nb.ipynb", "step": "c", "how": how}
    return told | {"because": "the outbox is empty"} | more


def steps(server, folder):
    """Return step → its view, as the server shows it."""
    answer = server.get("nbresume/run", path=f"{folder.name}/nb.ipynb")
    return {step.name: step for step in RunView.from_json(answer.body).steps}


def trail(folder):
    """Return the audit trail."""
    printed = subprocess.run(
        [sys.executable, "-m", "nbresume", "history", folder / "nb.ipynb", "--json"],
        capture_output=True,
        check=True,
    )
    return json.loads(printed.stdout)


def test_each_way_out_of_the_view_is_taken(server, in_doubt):
    """What the page offers is what it sends, and what is on record then."""
    ways = [way.how for way in steps(server, in_doubt)["c"].ways]
    told = steps(server, in_doubt)["c"].evidence
    states = []
    for how in (ways[2], ways[0]):
        answer = server.post("nbresume/decide", decision(in_doubt, how))
        assert answer.status == 200
        assert answer.json["said"].startswith(f"step c is settled: {how}")
        states.append(str(steps(server, in_doubt)["c"].state))

    assert ways == ["retry", "evidence", "abandon"]
    assert states == ["ABANDONED", "NEW"]
    assert all(f"on record: {line}" in answer.json["said"] for line in told)


def test_evidence_brings_values(server, in_doubt):
    """Values are literals, as they would be typed; the next kernel has them."""
    save(in_doubt / "nb.ipynb", LOAD, A, FINE)
    more = {"kind": "receipt", "reference": "no. 17", "values": {"sent": "17"}}
    answer = server.post("nbresume/decide", decision(in_doubt, "evidence", **more))
    assert answer.status == 200

    with Kernel(in_doubt, "nb.ipynb") as kernel:
        kernel.ok(LOAD, "c0")
        kernel.ok("%steps resume")
        assert kernel.evaluate("sent") == "17"


def test_a_committed_step_is_unlocked(server, in_doubt):
    """`rerun` is the word for it."""
    answer = server.post("nbresume/decide", decision(in_doubt, "rerun", step="a"))

    assert answer.json == {"said": "step a will run when its cell is run"}
    assert steps(server, in_doubt)["a"].plan == "rerun"


@pytest.mark.parametrize(
    ("change", "status", "because"),
    [
        ({"because": " "}, 409, "the record has to say why"),
        ({"step": "a"}, 409, "it is COMMITTED, so there is nothing in doubt"),
        ({"step": "nowhere"}, 409, "this run has no step of that name"),
        ({"how": "rerun", "because": ""}, 400, "the record has to say why"),
        ({"how": "guess"}, 400, "Invalid enum value 'guess'"),
        ({"later": 1}, 400, "unknown field `later`"),
        ({"result": "1"}, 400, "only an effect has a result"),
        ({"how": "evidence", "values": {"sent": "x y"}}, 400, "no Python literal"),
        ({"how": "evidence", "effect": "nope"}, 409, "it is not open"),
        ({"path": "../nb.ipynb"}, 404, "the server shows no such file"),
    ],
)
def test_what_cannot_be_decided_is_refused(server, in_doubt, change, status, because):
    """A sentence says why and what to do; nothing is written."""
    before = hashes(in_doubt / ".nbresume")
    answer = server.post("nbresume/decide", decision(in_doubt) | change)

    assert answer.status == status
    assert because in answer.json["because"]
    assert answer.json["remedy"]
    assert hashes(in_doubt / ".nbresume") == before


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"path": "\xff"}'])
def test_what_is_no_decision_is_refused(server, body):
    """Not half understood."""
    answer = server.post("nbresume/decide", body)

    assert answer.status == 400
    assert answer.json["message"] == "nothing was decided"


def test_a_page_of_another_site_decides_nothing(server, in_doubt):
    """Who is logged in by a cookie has to show the XSRF token, as everywhere."""
    login = server.send("GET", f"api/status?token={server.token}", {})
    cookies = [v.split(";")[0] for k, v in login.headers if k.lower() == "set-cookie"]
    page = server.send("GET", "login", {})
    cookies += [v.split(";")[0] for k, v in page.headers if k.lower() == "set-cookie"]
    token = next(c.partition("=")[2] for c in cookies if c.startswith("_xsrf"))
    cookie = {"Cookie": "; ".join(cookies)}
    before = hashes(in_doubt / ".nbresume")

    without = server.post("nbresume/decide", decision(in_doubt), headers=cookie)
    unchanged = hashes(in_doubt / ".nbresume")
    own = cookie | {"X-XSRFToken": token}
    with_it = server.post("nbresume/decide", decision(in_doubt), headers=own)

    assert (without.status, unchanged) == (403, before)
    assert with_it.status == 200


def test_a_stranger_decides_nothing(server, in_doubt):
    """Without the token."""
    answer = server.post("nbresume/decide", decision(in_doubt), headers={})

    assert answer.status == 403
    assert steps(server, in_doubt)["c"].state == "AMBIGUOUS"


def test_the_record_names_the_authenticated_user(tmp_path, serving, in_doubt_in):
    """And who may only read decides nothing."""
    with serving(tmp_path, PEOPLE, who="ada") as server:
        folder = in_doubt_in(server)
        wanted = decision(folder, "abandon")
        refused = server.post("nbresume/decide", wanted, who="bob")
        actors = [event["actor"] for event in trail(folder)]
        done = server.post("nbresume/decide", wanted, who="ada")

    assert (refused.status, done.status) == (403, 200)
    newest = trail(folder)[-1]
    assert newest["actor"] == "Ada Lovelace (ada)"
    assert len(trail(folder)) == len(actors) + 1


def test_a_running_step_is_not_decided_about(server, folder):
    """The kernel that holds the run would not hear of it."""
    save(folder / "nb.ipynb", LOAD, A, SLOW)
    with Kernel(folder, "nb.ipynb") as kernel:
        kernel.ok(LOAD, "c0")
        kernel.ok(A, "c1")
        kernel.send(SLOW, "c2")
        end = time.monotonic() + 30
        while steps(server, folder).get("b") is None or (
            steps(server, folder)["b"].state != "RUNNING"
        ):
            assert time.monotonic() < end
            time.sleep(0.1)
        answers = [
            server.post("nbresume/decide", decision(folder, how, step="b"))
            for how in ("retry", "abandon", "evidence", "rerun")
        ]
        kernel.process.kill()

    assert [answer.status for answer in answers] == [409] * 4
    assert all("is running it" in a.json["because"] for a in answers)
    assert all("Wait until its cell has ended" in a.json["remedy"] for a in answers)


def test_a_decision_beside_a_living_kernel_does_not_fence_it(server, in_doubt):
    """It is of the same epoch: the kernel applies it and goes on writing."""
    above = "%%step e\nz = 1"
    save(in_doubt / "nb.ipynb", LOAD, A, above, FINE, "%%step d\ny = x")
    with Kernel(in_doubt, "nb.ipynb") as kernel:
        kernel.ok(LOAD, "c0")
        kernel.ok(A, "c1")
        kernel.ok(above, "c2")  # this kernel holds the claim now
        refused = kernel.run("%%step d\ny = x", "c4")
        answer = server.post("nbresume/decide", decision(in_doubt))
        kernel.ok(FINE, "c3")
        kernel.ok("%%step d\ny = x", "c4")
    claims = kinds(in_doubt / ".nbresume").count("claim")

    assert "AmbiguousStep" in refused.error
    assert answer.status == 200
    assert steps(server, in_doubt)["c"].state == "COMMITTED"
    assert claims == 2


def test_a_foreign_run_is_not_decided_about(server, in_doubt, tmp_path, serving):
    """A decision would be signed with another key than all else."""
    with serving(tmp_path, env={"JUPYTER_DATA_DIR": str(tmp_path / "data")}) as other:
        folder = other.root / in_doubt.name
        shutil.move(in_doubt, folder)
        answer = other.post("nbresume/decide", decision(folder))
        view = other.get("nbresume/run", path=f"{folder.name}/nb.ipynb")

    assert answer.status == 409
    assert answer.json["kind"] == "not-trusted"
    assert "nbresume trust" in answer.json["remedy"]
    assert not view.json["trusted"]
