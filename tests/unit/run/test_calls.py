"""What is no key, no call and no option is refused before anything is written."""

import pytest
from unit.run.outside import lab_of, records

import nbresume
from nbresume.capture.atoms import importable, resolve_import
from nbresume.capture.pickling import dump
from nbresume.capture.rebuild import rebuild
from nbresume.model.records import EffectOpened
from nbresume.model.states import State

NOWHERE = {"resolve": None, "namespace": {}}


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("7", "a int, not a text"),
        ("None", "a NoneType, not a text"),
        ("''", "1 to 255 printable characters"),
        ("'k' * 10_000", "this one has 10000"),
        ("'a\\nb'", "printable"),
        ("'all'", "every effect behind --again"),
    ],
)
def test_what_is_no_key_is_refused(remote, key, said):
    """Nothing is opened and nothing called."""
    lab = lab_of(remote, pay=f"%%step pay\neffect({key}, remote.charge, 1)")
    k = lab.kernel()
    k.go()

    assert said in k.last.text
    assert remote.ledger == []
    assert records(k, EffectOpened) == []


def test_a_key_of_255_characters_is_taken(remote):
    """As long as payment services take them."""
    lab = lab_of(remote, pay="%%step pay\neffect('k' * 255, remote.charge, 1)")
    k = lab.kernel()
    k.go()

    assert k.state("pay") is State.COMMITTED


@pytest.mark.parametrize(
    ("fn", "said"),
    [
        ("remote.charge(1)", "cannot be called"),
        ("remote.charge", "does not take these arguments"),
        ("(lambda: (yield))", "it is a generator"),
        ("(lambda: (n for n in [1]))", "gave back a generator"),
        ("Future", "gave back a Future"),
    ],
)
def test_what_is_no_call_is_refused(remote, fn, said):
    """The work has been done before, or would be done later."""
    lab = lab_of(remote, pay=f"%%step pay\neffect('k', {fn})")
    k = lab.kernel()
    k.go()

    assert said in k.last.text


@pytest.mark.parametrize(
    "options",
    [
        "ttl=60",
        "idempotent=True, ttl=0",
        "idempotent=True, ttl=float('nan')",
        "idempotent=True, ttl=True",
        "definite=KeyboardInterrupt",
        "definite=('Timeout',)",
        "lookup=7",
    ],
)
def test_options_that_cannot_be_meant_are_refused(remote, options):
    """Nothing is called."""
    lab = lab_of(remote, pay=f"%%step pay\neffect.using({options})('k', print)")
    k = lab.kernel()
    k.go()

    assert "was not understood" in k.last.text
    assert records(k, EffectOpened) == []


def test_options_can_be_bound_to_a_name(remote):
    """A plain cell makes an effect for all steps; another kernel's is equal to it."""
    lab = lab_of(
        remote,
        setup="pay = effect.using(definite=Declined, idempotent=True, ttl=60)",
        pay="%%step pay\nreceipt = pay('charge', remote.charge, 1)",
    )
    lab.kernel().go()
    k = lab.kernel()
    k.go()

    assert k.last.how == "replayed"
    assert remote.ledger == [1]


@pytest.mark.parametrize("name", ["effect", "idempotency_key", "usage"])
def test_public_functions_are_found_by_their_public_names(name):
    """A key that holds where they live does not change when a module is moved."""
    value = getattr(nbresume, name)

    assert importable(value) == f"nbresume:{name}"
    assert resolve_import(f"nbresume:{name}") is value
    assert rebuild(dump([value], units={}, namespace={}).stream, [], **NOWHERE) is value


def test_an_effect_with_options_comes_back_with_them():
    """They are stored as plain parts."""
    made = nbresume.effect.using(definite=ValueError, idempotent=True, ttl=60)
    stream = dump([made], units={}, namespace={}).stream
    back = rebuild(stream, [], **NOWHERE)

    assert vars(back) == vars(made)


def test_a_built_in_function_can_be_called(remote):
    """It need not tell which arguments it takes."""
    lab = lab_of(remote, pay="%%step pay\nn = effect('k', max, [1, 2])")
    k = lab.kernel()
    k.go()

    assert k["n"] == 2
