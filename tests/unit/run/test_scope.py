"""Who may call effects: the cell, and the tasks and threads that it starts."""

import _thread
import asyncio
import contextvars
import threading

import pytest
from unit.run.fakes import Killed
from unit.run.outside import Declined, lab_of, raises

import nbresume
from nbresume.compose.active import ACTIVE
from nbresume.model.states import State

# -- where it may be called ------------------------------------------------------


def test_outside_of_a_step_it_is_refused(remote):
    """A plain cell has no record to keep."""
    lab = lab_of(remote, plain="effect('charge', remote.charge, 1)")
    k = lab.kernel()
    k.go()

    assert "outside of a step" in k.last.text
    assert remote.ledger == []


def test_without_the_extension_it_is_refused(remote, monkeypatch):
    """The message says how to load it."""
    monkeypatch.setattr(ACTIVE, "_session", None)
    with pytest.raises(nbresume.NbresumeError, match="%load_ext nbresume"):
        nbresume.effect("charge", remote.charge, 1)
    with pytest.raises(nbresume.NbresumeError, match="%load_ext nbresume"):
        nbresume.idempotency_key()
    with pytest.raises(nbresume.NbresumeError, match="%load_ext nbresume"):
        nbresume.usage(tokens=1)


THREAD = """%%step pay
def work():
    try:
        told.append(effect('charge', remote.charge, 1))
    except Exception as error:
        told.append(error)
thread = threading.Thread(target=work)
"""


def test_a_thread_of_the_step_may_call_effects(remote):
    """It was started by the body and ends before it."""
    lab = lab_of(remote, pay=f"{THREAD}thread.start(); thread.join()\ndel thread")
    told = lab.tools["told"] = []
    k = lab.kernel()
    k.go()

    assert told == [{"id": "ch_1", "amount": 1}]
    assert k.state("pay") is State.COMMITTED


def test_many_threads_call_one_effect_each(remote):
    """Their records stand one after the other."""
    pool = (
        "%%step pay\nfrom concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(8) as pool:\n"
        "    found = list(pool.map(lambda n: effect(f'c{n}', remote.charge, n), "
        "range(40)))\ndel pool"
    )
    lab = lab_of(remote, pay=pool)
    k = lab.kernel()
    k.go()

    assert k.state("pay") is State.COMMITTED
    assert sorted(remote.ledger) == list(range(40))
    assert [found["amount"] for found in k["found"]] == list(range(40))
    assert len(set(remote.keys)) == 40


def test_a_thread_that_outlives_its_step_opens_nothing(remote):
    """Not after its step, and not while another one runs."""
    gate, told = threading.Event(), []
    lab = lab_of(
        remote,
        pay=f"{THREAD.replace('    try:', '    gate.wait(10)' + chr(10) + '    try:')}"
        "thread.start()\nkeep(thread)\ndel thread",
        other="%%step other\ngate.set()\njoin()\nx = 1",
    )
    kept = []
    lab.tools |= {
        "gate": gate,
        "told": told,
        "keep": kept.append,
        "join": lambda: kept[0].join(10),
    }
    k = lab.kernel()
    k.go()

    assert remote.ledger == []
    assert "in a thread that the running step did not start" in str(told[0])
    assert k.state("other") is State.COMMITTED


def test_a_call_that_outlives_its_step_stays_open(remote):
    """The step is in doubt when its cell ends; the late outcome changes nothing."""
    gate, told = threading.Event(), []
    lab = lab_of(remote, pay=f"{THREAD}thread.start()\nstarted.wait(10)\nkeep(thread)")
    kept, started = [], threading.Event()

    def slow(n):
        started.set()
        gate.wait(10)
        remote.ledger.append(n)

    remote.charge = slow
    lab.tools |= {"told": told, "keep": kept.append, "started": started}
    k = lab.kernel()
    k.go()
    state = k.state("pay")
    gate.set()
    kept[0].join(10)

    assert state is State.AMBIGUOUS
    assert "was not committed" in k.last.text
    assert "was not recorded" in str(told[0])
    assert k.state("pay") is State.AMBIGUOUS


def test_two_threads_cannot_call_one_effect_at_once(remote):
    """The second one is refused while the first is on its way."""
    started, gate, told = threading.Event(), threading.Event(), []
    lab = lab_of(
        remote,
        pay=f"{THREAD}thread.start()\nstarted.wait(10)\ntry:\n"
        "    effect('charge', remote.charge, 1)\nexcept Exception as error:\n"
        "    told.append(error)\ngate.set()\nthread.join()\ndel thread",
    )
    charge = remote.charge

    def slow(n):
        started.set()
        gate.wait(10)
        return charge(n)

    remote.charge = slow
    lab.tools |= {"told": told, "started": started, "gate": gate}
    k = lab.kernel()
    k.go()

    assert remote.ledger == [1]
    assert "at this moment" in str(told[0])
    assert k.state("pay") is State.COMMITTED


# -- awaited ---------------------------------------------------------------------

ASYNC = """%%step pay
async def charge(n):
    await asyncio.sleep(0)
    return remote.charge(n)
async def main():
    return await asyncio.gather(*(effect(f'c{n}', charge, n) for n in range(3)))
found = asyncio.run(main())
later()"""


def test_coroutine_functions_are_awaited(remote):
    """Tasks call effects side by side; a replay is awaited too."""
    lab = lab_of(remote, pay=ASYNC)
    lab.tools["later"] = raises(ValueError())
    k = lab.kernel()
    k.go()
    k.namespace["__builtins__"]["later"] = lambda: None
    k.go()

    assert remote.ledger == [0, 1, 2]
    assert len(set(remote.keys)) == 3
    assert [found["amount"] for found in k["found"]] == [0, 1, 2]


def test_a_function_that_gives_back_an_awaitable_is_awaited(remote):
    """The call is done when that is; a replay can be awaited as well."""
    text = ASYNC.replace("charge, n)", "lambda: charge(n))")
    lab = lab_of(remote, pay=text.replace("range(3)", "[7]"))
    lab.tools["later"] = raises(ValueError())
    k = lab.kernel()
    k.go()
    k.namespace["__builtins__"]["later"] = lambda: None
    k.go()

    assert remote.ledger == [7]
    assert k["found"][0]["amount"] == 7
    assert k.state("pay") is State.COMMITTED


def test_a_coroutine_that_nobody_awaits_opens_nothing(remote):
    """Nothing was called, so nothing is in doubt."""
    lab = lab_of(remote, pay=ASYNC.replace("asyncio.run(main())", "main().close()"))
    k = lab.kernel()
    k.go()

    assert remote.ledger == []
    assert k.state("pay") is State.COMMITTED


def test_a_task_that_is_canceled_leaves_it_open(remote):
    """It may have got through."""
    lab = lab_of(
        remote,
        pay="""%%step pay
async def slow():
    remote.charge(1)
    await asyncio.sleep(9)
async def main():
    task = asyncio.ensure_future(effect('c', slow))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
asyncio.run(main())""",
    )
    k = lab.kernel()
    k.go()

    assert remote.ledger == [1]
    assert k.state("pay") is State.AMBIGUOUS


def test_an_async_lookup_is_awaited(remote):
    """It decides as a plain one does."""
    text = ASYNC.replace("effect(", "effect.using(lookup=find)(").replace(
        "range(3)", "[7]"
    )

    async def find(key):
        await asyncio.sleep(0)
        return nbresume.effect.happened({"amount": 7, "id": "found"})

    lab = lab_of(remote, pay=text)
    lab.tools["find"] = find
    remote.error = Killed()
    lab.kernel().go()
    remote.error = None
    k = lab.kernel()
    k.go()

    assert remote.ledger == [7]
    assert k["found"] == [{"amount": 7, "id": "found"}]


# -- idempotency keys, usage -----------------------------------------------------


def test_a_steps_key_is_stable_over_attempts_and_names(remote):
    """Crashes, edits and a rename change nothing."""
    lab = lab_of(remote, a="%%step a\nkeys.append(idempotency_key())\nlater()")
    keys = lab.tools["keys"] = []
    lab.tools["later"] = raises(Killed())
    lab.kernel().go()
    lab.tools["later"] = lambda: None
    k = lab.kernel()
    k.go()
    k.parts.recovery.rename("a", "b")
    k.parts.recovery.rerun("b", because="again")
    lab.edit(a="%%step b\nkeys.append(idempotency_key())\nx = 1")
    k.go()

    assert len(keys) == 3
    assert len(set(keys)) == 1


def test_a_new_step_under_a_freed_name_has_a_key_of_its_own(remote):
    """The renamed step has kept its key, so the new one must not get the same."""
    lab = lab_of(remote, a="%%step a\nx = idempotency_key()")
    k = lab.kernel()
    k.go()
    k.parts.recovery.rename("a", "b")
    lab.edit(a="%%step b\nx = idempotency_key()", c="%%step a\ny = idempotency_key()")
    k.go()

    assert k["x"] != k["y"]


def test_an_effects_key_is_its_own(remote):
    """It is neither that of the step nor that of another effect."""
    lab = lab_of(
        remote,
        pay="%%step pay\nmine = idempotency_key()\n"
        "a = effect('a', remote.charge, 1)\nb = effect('b', remote.charge, 2)\n"
        "after = idempotency_key()",
    )
    k = lab.kernel()
    k.go()

    assert len({*remote.keys, k["mine"]}) == 3
    assert k["after"] == k["mine"]


def test_inside_an_effect_can_be_asked(remote):
    """What watches the process knows whose the call is."""
    seen = []
    lab = lab_of(remote, pay="%%step pay\nlook()\neffect('a', look)\nlook()")
    lab.tools["look"] = lambda: seen.append(k.parts.effects.scopes.is_inside())
    k = lab.kernel()
    k.go()

    assert seen == [False, True, False]


def test_usage_adds_up_and_never_decreases(remote):
    """Failed, killed and repeated attempts have used what they used."""
    lab = lab_of(
        remote,
        pay="%%step pay\nusage(tokens=10, cost=0.5)\n"
        "effect('c', lambda: usage(tokens=5))\nlater()\nusage(tokens=1)",
    )
    seen = []

    def used(k):
        usage = k.view().usage
        seen.append((usage.tokens, usage.cost))

    lab.tools["later"] = raises(ValueError())
    k = lab.kernel()
    k.go()
    used(k)
    lab.tools["later"] = raises(Killed())
    lab.kernel().go()
    used(lab.kernel())
    lab.tools["later"] = lambda: None
    k = lab.kernel()
    k.go()
    used(k)
    k = lab.kernel()
    k.go()
    used(k)

    # the killed attempt replayed its effect and wrote no record: a lower bound
    assert seen == [(15, 0.5), (15, 0.5), (26, 1.0), (26, 1.0)]
    assert k.view().usage.attempts == 3


def test_usage_of_a_kernel_that_is_killed_is_kept_by_its_effects(remote):
    """An effect's records carry what was reported before them."""
    lab = lab_of(
        remote,
        pay="%%step pay\nfor n in range(3):\n    usage(tokens=10)\n"
        "    effect(f'c{n}', remote.charge, n)\ndie()",
    )
    lab.kernel().go()

    assert lab.kernel().view().usage.tokens == 30


@pytest.mark.parametrize(
    "amounts",
    ["tokens=-1", "cost=float('nan')", "tokens=1.5", "tokens='3'", "cost=True"],
)
def test_amounts_that_cannot_be_added_are_refused(remote, amounts):
    """No counter decreases."""
    lab = lab_of(remote, pay=f"%%step pay\nusage({amounts})")
    k = lab.kernel()
    k.go()

    assert "amounts are only added" in k.last.text
    assert k.view().usage.tokens == 0


def test_usage_outside_of_a_step_is_refused(remote):
    """There is no record that would carry it."""
    lab = lab_of(remote, plain="usage(tokens=1)")
    k = lab.kernel()
    k.go()

    assert "outside of a step" in k.last.text


def test_a_definite_exception_of_a_coroutine_is_a_recorded_failure(remote):
    """It may be tried again at once."""
    text = ASYNC.replace("effect(", "effect.using(definite=Declined)(").replace(
        "range(3)", "[7]"
    )
    remote.refusal = Declined()
    lab = lab_of(remote, pay=text)
    k = lab.kernel()
    k.go()
    assert k.state("pay") is State.FAILED
    remote.refusal = None
    k.go()

    assert remote.ledger == [7]
    assert k.state("pay") is State.COMMITTED


def test_a_task_that_outlives_its_step_is_refused(remote):
    """Its context is that of an attempt which has ended."""
    lab = lab_of(
        remote,
        pay="%%step pay\nkeep(copy_context())",
        other="%%step other\nkept[0].run(late)",
    )
    kept, told = [], []

    def late():
        with pytest.raises(nbresume.NbresumeError) as refused:
            nbresume.effect("charge", remote.charge, 1)
        told.append(str(refused.value))

    lab.tools |= {"keep": kept.append, "kept": kept, "late": late}
    lab.tools["copy_context"] = contextvars.copy_context
    k = lab.kernel()
    k.go()

    assert "step pay has ended" in told[0]
    assert remote.ledger == []


KEYS_OF_THREADS = """%%step pay
def ask():
    try:
        told.append(idempotency_key())
    except Exception as error:
        told.append(error)
def ask_in_a_thread():
    thread = threading.Thread(target=ask)
    thread.start(); thread.join()
ask_in_a_thread()
effect('c', ask_in_a_thread)
mine = idempotency_key()"""


def test_a_thread_within_an_effect_is_not_told_a_key(remote):
    """Nobody can say whether the key of the step or of the effect is meant."""
    lab = lab_of(remote, pay=KEYS_OF_THREADS)
    told = lab.tools["told"] = []
    k = lab.kernel()
    k.go()

    assert told[0] == k["mine"]
    assert "this thread may be one of its" in str(told[1])


def test_a_thread_that_python_did_not_start_is_refused(remote):
    """Nobody knows since when it runs."""
    lab = lab_of(
        remote,
        pay="%%step pay\ndef work():\n    try:\n        effect('c', remote.charge, 1)\n"
        "    except Exception as error:\n        told.append(str(error))\n"
        "    done.set()\nstart(work, ())\ndone.wait(10)",
    )
    told, done = [], threading.Event()
    lab.tools |= {"told": told, "done": done, "start": _thread.start_new_thread}
    lab.kernel().go()

    assert "a thread that the running step did not start" in told[0]
    assert remote.ledger == []
