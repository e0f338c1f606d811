"""`%steps undo`, `checkout`, `fork` and `diff`, in a shell."""

import json

import pytest

from nbresume.errors import NotCommitted, RefusedError, UsageError

A = "%%step a\nx = [1, 2]"
B = "%%step b\nx.append(3)\ny = sum(x)"


@pytest.fixture
def two(bare):
    """Return a shell in which two steps are committed."""
    bare.save("%load_ext nbresume", A, B)
    bare.load()
    for cell_id, code in (("c1", A), ("c2", B)):
        assert bare.run(code, cell_id).ok
    return bare


def names(shell):
    """Return the names of the steps with their values."""
    return {n: shell.ip.user_ns[n] for n in "xy" if n in shell.ip.user_ns}


def test_undo_says_what_it_did_and_what_follows(two):
    """Names go back; the commit stays, and its cell replays."""
    kinds = two.kinds()
    told = two.run("%steps undo", "u").text

    assert names(two) == {"x": [1, 2]}
    assert "the namespace is as it was before step b (commit 1)" in told
    assert "not in this kernel any more, but committed: b@1" in told
    assert two.kinds() == kinds
    assert "[restored] step b" in two.run(B, "c2").text
    assert two.run("print(x, y)", "p").text == "[1, 2, 3] 6\n"


def test_undo_as_json(two):
    """What moved, as a program reads it."""
    told = json.loads(two.run("%steps undo --json", "u").text)

    assert (told["names"], told["removed"], told["left"]) == (1, ["y"], ["b@1"])


def test_checkout_goes_to_a_commit(two):
    """By name, or by name and number."""
    assert two.run("%steps checkout a@1", "u").ok
    assert names(two) == {"x": [1, 2]}
    assert two.run("%steps checkout b", "u").ok
    assert names(two) == {"x": [1, 2, 3], "y": 6}


def test_what_would_be_lost_is_said_first(two):
    """A plain cell's value that is not saved: the second word is named."""
    two.run("y = 'mine'", "p")

    refused = two.run("%steps undo", "u")

    assert isinstance(refused.error, RefusedError)
    assert "%steps undo --yes" in str(refused.error)
    assert two.ip.user_ns["y"] == "mine"
    assert two.run("%steps undo --yes", "u").ok
    assert names(two) == {"x": [1, 2]}


def test_fork_goes_on_in_this_kernel(two):
    """Shared steps are restored; the rest is new; diff and history know its origin."""
    told = two.run("%steps fork --at a", "f").text

    assert "shares 1 committed steps: a" in told
    assert names(two) == {"x": [1, 2]}
    assert "[restored] step a" in two.run(A, "c1").text
    assert "[restored]" not in two.run(B, "c2").text
    assert "began the run as a fork" in two.run("%steps history", "h").text


def test_fork_as_json(two):
    """Where it comes from, and what it shares."""
    told = json.loads(two.run("%steps fork --at a --json", "f").text)

    assert (told["at_step"], told["steps"], told["acts"]) == ("a", ["a"], [])


def test_diff_compares_code_and_values(two):
    """Two commits of a step."""
    two.run(A.replace("2]", "5]"), "c1")

    told = two.run("%steps diff a@1 a@2", "d").text

    assert "-x = [1, 2]" in told
    assert "+x = [1, 5]" in told
    assert "output x: list" in told
    as_json = json.loads(two.run("%steps diff a@1 --json", "d").text)
    assert (as_json["old"], as_json["new"]) == ("a@1", "a@2")


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("undo too much", UsageError),
        ("checkout", UsageError),
        ("checkout a@x", UsageError),
        ("checkout nope", NotCommitted),
        ("fork", UsageError),
        ("fork nope --at a", NotCommitted),
        ("fork --at nope", NotCommitted),
        ("diff a", UsageError),
        ("diff a@1 a@2", NotCommitted),
    ],
)
def test_bad_input_is_refused_and_changes_nothing(two, line, kind):
    """Each with what to type next."""
    before, files = names(two), two.hashes()

    refused = two.run(f"%steps {line}", "u")

    assert isinstance(refused.error, kind)
    assert refused.error.remedy
    assert (names(two), two.hashes()) == (before, files)


def test_undo_after_resume_and_in_a_fresh_kernel(two):
    """A kernel that holds no step has nothing to take back."""
    two.run("%unload_ext nbresume", "x")
    two.run("%reset -f", "x")
    two.run("%load_ext nbresume", "x")

    assert isinstance(two.run("%steps undo", "u").error, NotCommitted)
    assert two.run("%steps resume", "r").ok
    assert two.run("%steps undo", "u").ok
    assert names(two) == {"x": [1, 2]}
