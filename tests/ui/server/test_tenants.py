"""Two people: nobody reads, lists or guesses the runs of the other one.

On one server, whose authorizer or whose contents manager tells them apart; and on
servers of their own, as a hub starts them.
"""

import json
import secrets
import shutil
from urllib.parse import unquote

import pytest
from real_kernel import LOAD, Kernel, hashes, save

from nbresume.store.access import AccessLog

pytestmark = pytest.mark.kernel

A = "%%step a\nx = 'a secret of ada'"
READING = ("run", "history", "plan", "explain", "step")

PEOPLE = """
from jupyter_server.auth.identity import IdentityProvider, User
from jupyter_server.auth.authorizer import Authorizer
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from jupyter_server import CallContext
from tornado import web

class People(IdentityProvider):
    known = {f"token {name}": User(name, name) for name in ("ada", "bob")}

    def get_user(self, handler):
        handler._token_authenticated = True
        return self.known.get(handler.request.headers.get("Authorization", ""))

c.ServerApp.identity_provider_class = People
"""
BY_AUTHORIZER = (
    PEOPLE
    + """
class OwnFolder(Authorizer):
    def is_authorized(self, handler, user, action, resource):
        path = handler.path_kwargs.get("path")
        if resource != "contents" or path is None:
            return resource != "contents"
        return path.strip("/").split("/")[0] == user.username

c.ServerApp.authorizer_class = OwnFolder
"""
)
BY_CONTENTS = (
    PEOPLE
    + """
class OwnFolders(AsyncLargeFileManager):
    def _get_os_path(self, path):
        handler = CallContext.get(CallContext.JUPYTER_HANDLER)
        first = path.strip("/").split("/")[0]
        if handler is not None and handler.current_user is not None and first:
            if first != handler.current_user.username:
                raise web.HTTPError(404, f"{first} is not yours")
        return super()._get_os_path(path)

c.ServerApp.contents_manager_class = OwnFolders
"""
)


def committed(folder, cell=A, **env):
    """Make a folder whose notebook has a committed step."""
    folder.mkdir()
    save(folder / "nb.ipynb", LOAD, cell)
    with Kernel(folder, "nb.ipynb", env=env) as kernel:
        kernel.ok(LOAD, "c0")
        kernel.ok(cell, "c1")


def asked(server, route, path, who):
    """Ask for a notebook as somebody; return status and body, which say all."""
    own = server.pass_of(who)
    answer = server.send("GET", f"nbresume/{route}?path={path}&step=a", own)
    return answer.status, answer.body.replace(path.strip("/").encode(), b"PATH")


def decided(server, path, who):
    """Decide about a notebook's step as somebody."""
    told = {"path": path, "step": "a", "how": "rerun", "because": "mischief"}
    answer = server.post("nbresume/decide", told, who=who)
    return answer.status, answer.body.replace(path.strip("/").encode(), b"PATH")


def all_told(server, path, who):
    """Return what every route says of a notebook."""
    found = {route: asked(server, route, path, who) for route in READING}
    return found | {"decide": decided(server, path, who)}


@pytest.fixture(scope="module", params=[BY_AUTHORIZER, BY_CONTENTS], ids=["auth", "cm"])
def together(request, tmp_path_factory, data_folder):
    """Run one server for two people, each with a folder and a run."""
    from ui.server.conftest import running

    home = tmp_path_factory.mktemp("together")
    with running(home, config=request.param, who="ada") as server:
        committed(server.root / "ada")
        committed(server.root / "bob", A.replace("ada", "bob"))
        yield server


def test_ones_own_run_is_told(together):
    """Both are served."""
    for who in ("ada", "bob"):
        status, body = asked(together, "step", f"{who}/nb.ipynb", who)
        assert status == 200
        assert f"a secret of {who}" in body.decode()
        assert decided(together, f"{who}/nb.ipynb", who)[0] == 200


def test_who_looked_is_on_record(together, data_folder):
    """By the name that the server has authenticated, in the server's own folder."""
    asked(together, "step", "bob/nb.ipynb", "bob")
    asked(together, "explain", "bob/nb.ipynb", "bob")
    asked(together, "step", "bob/nb.ipynb", "ada")

    store = json.loads((together.root / "bob/.nbresume/store.json").read_text())
    log = AccessLog(data_folder / "nbresume" / "access" / f"{store['id']}.jsonl")
    lines = [one for one in log.all()[0] if one.via == "server"]
    found = [(one.act, one.who, one.step) for one in lines]
    assert found[-2:] == [("inspected", "bob", "a")] * 2
    assert "ada" not in {who for _, who, _ in found}


def test_what_is_anothers_is_as_if_it_were_not_there(together):
    """One and the same answer for a run of hers, a notebook without one, nothing."""
    save(together.root / "ada" / "new.ipynb", LOAD, A)
    before = hashes(together.root / "ada")

    of_run = all_told(together, "ada/nb.ipynb", "bob")
    of_new = all_told(together, "ada/new.ipynb", "bob")
    of_none = all_told(together, "ada/none.ipynb", "bob")
    elsewhere = all_told(together, "carol/none.ipynb", "bob")

    assert {status for status, _ in of_run.values()} <= {403, 404}
    assert of_run == of_new == of_none == elsewhere
    assert hashes(together.root / "ada") == before


@pytest.mark.parametrize(
    "path",
    [
        "bob/../ada/nb.ipynb",
        "/ada/nb.ipynb",
        "//ada/nb.ipynb",
        "./ada/nb.ipynb",
        "bob/./../ada/nb.ipynb",
        "ADA/../ada/nb.ipynb",
        "bob%2F..%2Fada%2Fnb.ipynb",
        "ada%2Fnb.ipynb",
        "bob/%2e%2e/ada/nb.ipynb",
        "bob/link/nb.ipynb",
        "bob/loop/nb.ipynb",
        "bob/nb%00.ipynb",
        "%20ada/nb.ipynb",
        "ada/nb.ipynb%00",
        "bob/nb.ipynb/../../ada/nb.ipynb",
        "ada%00/nb.ipynb",
        "bob/" + "n" * 5000,
        "bob\\..\\ada\\nb.ipynb",
    ],
)
def test_no_spelling_leads_there(together, path):
    """Nothing of hers is in any answer, and none is a failure of the server."""
    for name, target in (("link", "../ada"), ("loop", "loop")):
        if not (together.root / "bob" / name).is_symlink():
            (together.root / "bob" / name).symlink_to(target)
    ada = json.loads(asked(together, "run", "ada/nb.ipynb", "ada")[1])

    answers = [asked(together, route, path, "bob") for route in READING]
    answers.append(decided(together, unquote(path), "bob"))
    for status, body in answers:
        assert status in (403, 404), body
        assert b"secret of ada" not in body
        assert ada["run_id"].encode() not in body


def test_the_metrics_page_lists_no_run_of_others(together):
    """Its labels are ids of runs: on a server for several people it has none."""
    ids = [
        json.loads(asked(together, "run", f"{who}/nb.ipynb", who)[1])["run_id"]
        for who in ("ada", "bob")
    ]
    page = b""
    for _ in range(3):
        page = together.send("GET", "metrics", together.pass_of("bob")).body

    assert page
    assert [one for one in ids if one.encode() in page] == []


@pytest.mark.parametrize("config", [BY_AUTHORIZER, BY_CONTENTS], ids=["auth", "cm"])
@pytest.mark.parametrize("gone", [False, True], ids=["there", "renamed"])
def test_cells_of_the_same_ids_are_no_way_in(serving, tmp_path, config, gone):
    """In one store for all, a copy of her cells neither takes nor names her run."""
    env = {"NBRESUME_STORE": str(tmp_path / "all")}
    with serving(tmp_path, config=config, env=env, who="ada") as server:
        committed(server.root / "ada", **env)
        (server.root / "bob").mkdir()
        save(server.root / "bob" / "nb.ipynb", LOAD, A)
        hers = json.loads(asked(server, "run", "ada/nb.ipynb", "ada")[1])
        if gone:
            ada = server.root / "ada"
            (ada / "nb.ipynb").rename(ada / "renamed.ipynb")
            taken = json.loads(asked(server, "run", "ada/renamed.ipynb", "ada")[1])
            assert taken["run_id"] == hers["run_id"]
        found = all_told(server, "bob/nb.ipynb", "bob")

    for status, body in found.values():
        assert status in (200, 204, 409)
        assert hers["run_id"].encode() not in body
        assert b"secret of ada" not in body
        assert b"looks like a copy" not in body
        assert b"was nb.ipynb before" not in body
    assert json.loads(found["run"][1])["headline"].startswith("0 of 1 steps")


@pytest.mark.parametrize("config", [BY_AUTHORIZER, BY_CONTENTS], ids=["auth", "cm"])
def test_encrypted_stores_with_a_key_each(serving, tmp_path, config):
    """A server opens the store whose key it has, and that one for its owner alone."""
    keys = {who: secrets.token_hex(32) for who in ("ada", "bob")}
    on = {"NBRESUME_ENCRYPT": "1"}
    env = on | {"NBRESUME_KEY": keys["ada"]}
    with serving(tmp_path, config=config, env=env, who="ada") as server:
        for who, key in keys.items():
            committed(server.root / who, A.replace("ada", who), NBRESUME_KEY=key, **on)
        hers, his = (
            {route: asked(server, route, f"{who}/nb.ipynb", who) for route in READING}
            for who in ("ada", "bob")
        )
        before = hashes(server.root / "bob" / ".nbresume")
        decisions = {who: decided(server, f"{who}/nb.ipynb", who) for who in keys}
        across = all_told(server, "ada/nb.ipynb", "bob")
        nowhere = all_told(server, "carol/nb.ipynb", "bob")
        page = server.send("GET", "metrics", server.pass_of("ada"))
        after = hashes(server.root / "bob" / ".nbresume")

    assert b"a secret of ada" in hers["step"][1]
    assert decisions["ada"][0] == 200
    # what was decided is told, with what is lost; no value is, and nothing is decided
    assert his["run"][0] == 200
    assert json.loads(his["run"][1])["headline"].startswith("1 of 1 steps")
    assert b"they take the key" in his["run"][1]
    assert his["step"][0] == decisions["bob"][0] == 409
    everything = b"".join(body for _, body in [*his.values(), decisions["bob"]])
    assert b"a secret of" not in everything
    assert after == before
    assert across == nowhere
    assert page.status == 200
    said = everything + b"".join(body for _, body in across.values())
    assert not any(key.encode() in said for key in keys.values())


def test_servers_of_their_own(serving, tmp_path):
    """Neither token opens the other's server; no path leads from root to root."""
    homes = {who: tmp_path / who for who in ("ada", "bob")}
    for home in homes.values():
        home.mkdir()
    data = {
        who: {"JUPYTER_DATA_DIR": str(home / "data")} for who, home in homes.items()
    }
    with (
        serving(homes["ada"], env=data["ada"], who="ada-1") as ada,
        serving(homes["bob"], env=data["bob"], who="bob-1") as bob,
    ):
        for who, server in (("ada", ada), ("bob", bob)):
            committed(server.root / "w", A.replace("ada", who), **data[who])
        hers = json.loads(asked(ada, "run", "w/nb.ipynb", "ada-1")[1])
        strange = [all_told(ada, p, "bob-1") for p in ("w/nb.ipynb", "none.ipynb")]
        (bob.root / "link").symlink_to(ada.root / "w")
        shutil.copytree(ada.root / "w" / ".nbresume", bob.root / "stolen")
        spelled = [
            "../../ada/root/w/nb.ipynb",
            f"{ada.root}/w/nb.ipynb",
            "link/nb.ipynb",
        ]
        sideways = [all_told(bob, path, "bob-1") for path in spelled]
        nothing = all_told(bob, "no/nb.ipynb", "bob-1")

    assert {status for one in strange for status, _ in one.values()} == {403}
    assert strange[0] == strange[1]
    for found in sideways:
        assert found == nothing
        assert all(hers["run_id"].encode() not in body for _, body in found.values())
    assert (homes["ada"] / "data/nbresume/key").read_bytes() != (
        homes["bob"] / "data/nbresume/key"
    ).read_bytes()
