"""Loops inside a step: an interrupted one goes on where its progress was saved."""

import pytest
from unit.run.fakes import Killed, Lab

from nbresume.model.records import Progress
from nbresume.model.states import State
from nbresume.model.values import How
from nbresume.run.recovery import Answer
from nbresume.run.verify import verify

HEAD = "%%step train\nfrom nbresume import resumable\n"


class Outside:
    """What the body tells of itself: which items it did; dies where it is told to."""

    def __init__(self) -> None:
        self.items: list[object] = []
        self.dies_at: set[int] = set()
        self.raises: BaseException | None = None
        """Raised in place of dying."""

    def __call__(self, item: object) -> None:
        """Note an item, or end the kernel at it."""
        if len(self.items) in self.dies_at:
            self.dies_at.discard(len(self.items))
            raise self.raises or Killed
        self.items.append(item)


@pytest.fixture
def did() -> Outside:
    """Return the ledger of one notebook."""
    return Outside()


def lab_of(did: Outside, body: str, **cells: str) -> Lab:
    """Return a lab with one step whose loops tell what they do."""
    lab = Lab(**cells, train=HEAD + body)
    lab.tools["did"] = did
    return lab


def killed(lab: Lab, **settings):
    """Run all cells in a kernel that dies; return it."""
    k = lab.kernel(**settings)
    k.go()
    assert k.last.how == "killed", k.last.text
    return k


def progress_of(k) -> list[Progress]:
    """Return the progress records of the run, in order."""
    from nbresume.model.codec import record_of

    links = k.lab.store().read_chain(k.run_id)
    found = [record_of(link.envelope) for link in links if link.envelope]
    return [record for record in found if isinstance(record, Progress)]


SUM = """
total, seen = 0, []
for n in resumable(range(10), every=3, bar=False):
    total += n
    seen.append(n)
    did(n)
"""

# -- going on --------------------------------------------------------------------


def test_a_loop_that_was_cut_off_goes_on_from_its_progress(did):
    """Items that are done are not done again, and the names are as they were."""
    lab = lab_of(did, SUM)
    did.dies_at = {7}
    killed(lab)
    k = lab.kernel()
    k.go()

    assert k.state("train") is State.COMMITTED
    assert did.items == [0, 1, 2, 3, 4, 5, 6, 6, 7, 8, 9]
    assert (k["total"], k["seen"], k["n"]) == (45, list(range(10)), 9)
    assert "goes on at item 6 of 10" in k.last.text


def test_progress_outlives_an_attempt_that_made_none(did):
    """Killed before its first save, the second attempt loses nothing more."""
    lab = lab_of(did, SUM)
    did.dies_at = {7, 8}
    killed(lab)
    killed(lab)
    k = lab.kernel()
    k.go()

    assert did.items == [0, 1, 2, 3, 4, 5, 6, 6, 6, 7, 8, 9]
    assert k["seen"] == list(range(10))


@pytest.mark.parametrize("at", range(10))
def test_wherever_it_dies_the_result_is_that_of_one_run(did, at):
    """At most `every` items are done again."""
    lab = lab_of(did, SUM)
    did.dies_at = {at}
    killed(lab)
    k = lab.kernel()
    k.go()

    assert k["seen"] == list(range(10))
    assert len(did.items) <= 10 + 3


def test_an_uninterrupted_loop_is_what_it_is_without_progress(did):
    """Its commit has the outputs, deletions and in-place changes of a plain loop."""
    cells = {"made": "%%step made\nrows, gone = [], 1"}
    body = "for n in ITEMS:\n    rows.append(n)\n    did(n)\ndel gone"
    kernels = []
    for items in ("range(7)", "resumable(range(7), every=2, bar=False)"):
        k = lab_of(did, body.replace("ITEMS", items), **cells).kernel()
        k.go()
        kernels.append(k)
    plain, loop = (k.commits("train") for k in kernels)

    assert loop.outputs.keys() == plain.outputs.keys()
    assert {n: o.version for n, o in loop.outputs.items() if n != "resumable"} == {
        n: o.version for n, o in plain.outputs.items() if n != "resumable"
    }
    assert (loop.deleted, loop.in_place) == (plain.deleted, plain.in_place)
    assert loop.in_place == ["rows"]


def test_inputs_that_are_changed_in_place_come_back_as_they_were(did):
    """Also under the other names that hold them."""
    lab = lab_of(
        did,
        "for n in resumable(range(6), every=2, bar=False):\n"
        "    rows.append(n)\n    did(n)",
        made="%%step made\nrows = []\nalso = rows\nbox = {'rows': rows}",
    )
    did.dies_at = {5}
    killed(lab)
    k = lab.kernel()
    k.go()

    assert k["rows"] == list(range(6))
    assert k["also"] is k["rows"]
    assert k["box"]["rows"] is k["rows"]
    assert k.commits("train").in_place == ["also", "box", "rows"]
    k = k.restart()
    k.go()
    assert did.items == [0, 1, 2, 3, 4, 4, 5]
    assert k["also"] is k["rows"]


def test_lines_above_the_loop_run_again_and_are_overruled(did):
    """What they make anew is what it was at the point of progress; the rest is gone."""
    body = (
        "did('top')\nacc, gone = [0], 1\n"
        "for n in resumable(range(6), every=2, bar=False):\n"
        "    if n == 0:\n        del gone\n    acc[0] += n\n    did(n)\n"
        "left = 'gone' in globals()"
    )
    lab = lab_of(did, body)
    did.dies_at = {5}
    killed(lab)
    k = lab.kernel()
    k.go()

    assert did.items == ["top", 0, 1, 2, 3, "top", 4, 5]
    assert (k["acc"], k["left"]) == ([15], False)


def test_objects_that_know_each_other_come_back_together(did):
    """A model and what trains it are one graph, also by classes of the cell."""
    body = (
        "class Model:\n    def __init__(self):\n        self.w = [0.0]\n"
        "class Opt:\n    def __init__(self, model):\n        self.model = model\n"
        "    def step(self, n):\n        self.model.w[0] += n\n"
        "model = Model()\nopt = Opt(model)\n"
        "for n in resumable(range(8), STATE every=3, bar=False):\n"
        "    opt.step(n)\n    did(n)\n"
        "same = opt.model is model and isinstance(model, Model)"
    )
    for state in ("", "state=('model',),", "state='opt',"):
        lab = lab_of(did, body.replace("STATE", state))
        did.items, did.dies_at = [], {7}
        killed(lab)
        k = lab.kernel()
        k.go()

        assert did.items == [0, 1, 2, 3, 4, 5, 6, 6, 7], state
        assert (k["model"].w, k["same"]) == ([28.0], True), state


def test_the_random_generator_goes_on_too(did):
    """Also one that was never seeded in the cell's own code."""
    body = (
        "import random\nrandom.seed(7)\ndraws = []\n"
        "for n in resumable(range(9), every=2, bar=False):\n"
        "    draws.append(random.random())\n    did(n)"
    )
    whole = lab_of(Outside(), body).kernel()
    whole.go()
    lab = lab_of(did, body)
    did.dies_at = {5}
    killed(lab)
    k = lab.kernel()
    k.go()

    assert len(did.items) == 10
    assert k["draws"] == whole["draws"]


def test_a_killed_loop_of_another_kernel_goes_on_in_a_living_one(did):
    """Ctrl-C leaves the kernel its objects; they do not stand for what was saved."""
    lab = lab_of(did, SUM)
    did.dies_at, did.raises = {8}, KeyboardInterrupt()
    k = lab.kernel()
    k.go()
    assert k.state("train") is State.FAILED
    k.go()

    assert did.items == [0, 1, 2, 3, 4, 5, 6, 7, 6, 7, 8, 9]
    assert (k["total"], k["seen"]) == (45, list(range(10)))


def test_an_exception_in_the_body_keeps_the_progress(did):
    """The same cell, run again, begins at the item that was saved."""
    lab = lab_of(did, SUM)
    did.dies_at, did.raises = {4}, ValueError("boom")
    k = lab.kernel()
    k.go()
    k.go()

    assert did.items == [0, 1, 2, 3, 3, 4, 5, 6, 7, 8, 9]
    assert k["total"] == 45


# -- starting from the inputs ------------------------------------------------------


def test_an_edited_loop_starts_from_its_inputs(did):
    """Its progress is that of other code; the person is told."""
    lab = lab_of(did, SUM)
    did.dies_at = {7}
    killed(lab)
    lab.edit(train=HEAD + SUM.replace("total += n", "total += 2 * n"))
    k = lab.kernel()
    k.go()

    assert did.items[7:] == list(range(10))
    assert k["total"] == 90
    assert "starts from its inputs" in k.last.text


def test_other_inputs_start_it_from_the_inputs(did):
    """An input is another one: what was done with the former one is worth nothing."""
    body = SUM.replace("total += n", "total += n * factor")
    lab = lab_of(did, body, made="%%step made\nfactor = 1")
    did.dies_at = {7}
    killed(lab)
    lab.edit(made="%%step made\nfactor = 10")
    k = lab.kernel()
    k.go()

    assert did.items[7:] == list(range(10))
    assert k["total"] == 450


def test_a_person_can_have_it_start_from_the_inputs(did):
    """``%steps rerun`` lets go of the progress, also if it is cut off again."""
    lab = lab_of(did, SUM)
    did.dies_at = {7}
    killed(lab)
    k = lab.kernel()
    k.parts.recovery.rerun("train", because="begin anew")
    k.go()

    assert did.items[7:] == list(range(10))


def test_a_committed_loop_replays_and_leaves_no_progress_behind(did):
    """The next commit of the step begins at item 0."""
    lab = lab_of(did, SUM)
    k = lab.kernel()
    k.go()
    assert k.journal.state.step("train").progress == {}
    k = k.restart()
    k.go()

    assert k.last.how == "replayed"
    assert len(did.items) == 10


# -- several loops -----------------------------------------------------------------

TWO = """
first, second = [], []
for n in resumable(range(4), every=2, bar=False):
    first.append(n)
    did(f'a{n}')
middle = sum(first)
for n in resumable(range(4), every=2, bar=False):
    second.append(n + middle)
    did(f'b{n}')
"""

NESTED = """
import random
random.seed(3)
log, rate = [], 1.0
for epoch in resumable(range(3), bar=False):
    rate /= 2
    order = random.sample(range(5), 5)
    for n in resumable(order, every=2, bar=False):
        log.append((epoch, n, rate, random.random()))
        did((epoch, n))
    log.append(('end', epoch))
"""


@pytest.mark.parametrize("at", range(8))
def test_two_loops_after_each_other(did, at):
    """The first is gone through again from its progress, the second goes on."""
    lab = lab_of(did, TWO)
    did.dies_at = {at}
    killed(lab)
    k = lab.kernel()
    k.go()

    assert k["first"] == [0, 1, 2, 3]
    assert k["second"] == [6, 7, 8, 9]
    assert len(did.items) <= 8 + 2 + 2


def test_a_loop_that_is_left_out_is_not_taken_for_the_next_one(did):
    """The way through the cell depends on what the first attempt did outside."""
    body = (
        "made, used = 0, []\nif not cached:\n"
        "    for n in resumable(range(4), every=1, bar=False):\n"
        "        made += 1\n    cached.append(1)\n"
        "for n in resumable(range(4), every=1, bar=False):\n"
        "    used.append(n)\n    did(n)"
    )
    lab = lab_of(did, body)
    lab.tools["cached"] = []
    did.dies_at = {0}
    killed(lab)
    k = lab.kernel()
    k.go()

    assert k["used"] == [0, 1, 2, 3]


def test_a_loop_that_is_entered_again_and_again(did):
    """In a loop that saves nothing itself: each entry is a loop of its own."""
    body = (
        "log = []\nfor turn in range(3):\n"
        "    for n in resumable(range(4), every=2, bar=False):\n"
        "        log.append((turn, n))\n        did((turn, n))"
    )
    for at in range(12):
        lab = lab_of(did, body)
        did.items, did.dies_at = [], {at}
        killed(lab)
        k = lab.kernel()
        k.go()
        assert k["log"] == [(turn, n) for turn in range(3) for n in range(4)], at


def test_a_loop_that_took_long_is_saved_at_its_end(did):
    """Nothing of it is done again, whatever happens below it."""
    lab = lab_of(did, TWO)
    lab.tools["did"] = lambda item: (lab.clock.advance(1), did(item))
    did.dies_at = {7}
    killed(lab)
    k = lab.kernel()
    k.go()

    assert did.items == ["a0", "a1", "a2", "a3", "b0", "b1", "b2", "b2", "b3"]
    assert k["second"] == [6, 7, 8, 9]


@pytest.mark.parametrize("at", range(15))
def test_a_loop_in_a_loop(did, at):
    """The outer item that was begun is begun again; in it the inner loop goes on."""
    whole = lab_of(Outside(), NESTED).kernel()
    whole.go()
    lab = lab_of(did, NESTED)
    did.dies_at = {at}
    killed(lab)
    k = lab.kernel()
    k.go()

    assert k["log"] == whole["log"]
    assert k["rate"] == whole["rate"]
    assert len(did.items) <= 15 + 2


def test_a_nested_loop_that_is_killed_again_and_again(did):
    """Each attempt comes further; nothing is lost or done twice beyond its share."""
    whole = lab_of(Outside(), NESTED).kernel()
    whole.go()
    lab = lab_of(did, NESTED)
    did.dies_at = {3, 6, 7, 11, 14, 16}
    for _ in range(6):
        killed(lab)
    k = lab.kernel()
    k.go()

    assert k["log"] == whole["log"]
    assert len(did.items) <= 15 + 6 * 2


# -- state -------------------------------------------------------------------------


def test_state_narrows_what_is_kept_not_what_is_right(did):
    """What the loop was seen to change beside it is kept too, and that is told."""
    body = (
        "model, losses, data = [0], [], list(range(100))\n"
        "for n in resumable(range(7), state='model', every=2, bar=False):\n"
        "    step = data[n]\n    model[0] += step\n    losses.append(step)\n    did(n)"
    )
    lab = lab_of(did, body)
    did.dies_at = {5}
    k = killed(lab)
    record = progress_of(k)[-1]
    assert record.names == ["losses", "model"]
    assert not record.whole
    k = lab.kernel()
    k.go()

    assert (k["model"], k["losses"]) == ([21], list(range(7)))
    assert len(did.items) == 8


def test_what_is_carried_over_without_a_value_before_is_kept_too(did):
    """A name that only the loop makes, and reads again in the next item."""
    body = (
        "model = [0]\n"
        "for n in resumable(range(7), state='model', every=2, bar=False):\n"
        "    if n == 0:\n        acc = []\n    acc.append(n)\n    did(n)"
    )
    lab = lab_of(did, body)
    did.dies_at = {5}
    killed(lab)
    k = lab.kernel()
    k.go()

    assert k["acc"] == list(range(7))


@pytest.mark.parametrize(
    ("state", "why"),
    [
        ("'nothing'", "no such name has a value"),
        ("'late'", "no such name has a value"),
        ("'gen'", "cannot be kept"),
        ("('a b',)", "it names what to keep"),
        ("()", "it names what to keep"),
    ],
)
def test_a_state_that_cannot_be_kept_is_refused(did, state, why):
    """At the loop's entry, or at the first save if its name is to come."""
    body = (
        "gen = (n for n in range(9))\n"
        f"for n in resumable(range(4), state={state}, every=2, bar=False):\n"
        "    did(n)\nlate = 1"
    )
    k = lab_of(did, body).kernel()
    k.go()

    assert why in k.last.text
    assert k.state("train") is State.FAILED
    assert len(did.items) <= 2


def test_what_cannot_be_kept_is_made_anew_above_the_loop(did):
    """It is told once, and does not stop the loop."""
    body = (
        "import threading\nlock = threading.Thread(target=print)\nseen = []\n"
        "for n in resumable(range(6), every=2, bar=False):\n"
        "    seen.append(n)\n    did(n)"
    )
    lab = lab_of(did, body)
    did.dies_at = {5}
    k = killed(lab)
    told = [line for line in k.screen.said if "is saved without lock" in line]
    assert len(told) == 1
    k = lab.kernel()
    k.go()

    assert k["seen"] == list(range(6))
    assert k["lock"] is not None


# -- iterators ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "items",
    [
        "(n for n in range(10))",
        "iter(list(range(10)))",
        "map(int, '0123456789')",
        "{n: 1 for n in range(10)}",
    ],
)
def test_an_iterator_is_skipped_forward(did, items):
    """It is made anew above the loop, and what was done is passed over."""
    lab = lab_of(did, SUM.replace("range(10)", items))
    did.dies_at = {7}
    killed(lab)
    k = lab.kernel()
    k.go()

    assert did.items == [0, 1, 2, 3, 4, 5, 6, 6, 7, 8, 9]
    assert k["seen"] == list(range(10))


@pytest.mark.parametrize(
    ("items", "why"),
    [
        ("order()", "its item 5 is not the one it had"),
        ("[[n] for n in order()]", "its item 5 is not the one it had"),
        ("order()[:9]", "it has 9 items, it had 10"),
        ("iter(order()[:5])", "it has only 5 items"),
    ],
)
def test_other_items_are_refused(did, items, why):
    """A difference is told, with what to type; typing it begins anew."""
    order = list(range(10))
    body = SUM.replace("range(10)", items).replace("n\n", "str(n)\n")
    body = body.replace("total += str(n)", "total += 1")
    lab = lab_of(did, body.replace("order()[:9]", "order()").replace("[:5]", ""))
    lab.tools["order"] = lambda: list(order)
    did.dies_at = {7}
    killed(lab)
    if "[:" in items:
        del order[9 if "9" in items else 5 :]
    else:
        order.reverse()
    k = lab.kernel()
    k.go()
    assert why in k.last.text
    assert "%steps rerun train" in k.last.text
    k.go()
    assert why in k.last.text
    k.parts.recovery.rerun("train", because="another order")
    k.go()

    assert k.state("train") is State.COMMITTED
    assert len(k["seen"]) == len(order)


@pytest.mark.parametrize("items", ["[]", "iter(())", "range(0)", "''"])
def test_a_loop_without_items_is_no_loop(did, items):
    """Nothing is saved."""
    k = lab_of(did, SUM.replace("range(10)", items)).kernel()
    k.go()

    assert k["total"] == 0
    assert progress_of(k) == []


def test_break_and_continue_do_what_they_do(did):
    """A loop that was left goes the same way again."""
    body = (
        "seen = []\nfor n in resumable(range(10), every=2, bar=False):\n"
        "    if n == 1:\n        continue\n"
        "    if n == 7:\n        break\n    seen.append(n)\n    did(n)\n"
        "else:\n    seen.append('else')\n"
        "for m in resumable('ab', every=1, bar=False):\n"
        "    did(m)\n    seen.append(m)"
    )
    for at in range(8):
        lab = lab_of(did, body)
        did.items, did.dies_at = [], {at}
        killed(lab)
        k = lab.kernel()
        k.go()
        assert k["seen"] == [0, 2, 3, 4, 5, 6, "a", "b"], at


# -- where it may stand ------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("rows = [n for n in resumable(range(4))]", "does not stand behind the in"),
        ("rows = list(resumable(range(4)))", "does not stand behind the in"),
        (
            "for i, n in enumerate(resumable(range(4))):\n    did(n)",
            "does not stand behind the in",
        ),
        (
            "def go():\n    for n in resumable(range(4)):\n        did(n)\ngo()",
            "it stands in go",
        ),
        (
            (
                "import threading\ndef go():\n    for n in resumable(range(4)):\n"
                "        did(n)\nt = threading.Thread(target=lambda: caught(go))\n"
                "t.start()\nt.join()\nraise errors.pop()"
            ),
            "it stands in a thread",
        ),
        ("for n in resumable(range(4), every=0):\n    did(n)", "every=0"),
        ("for n in resumable(range(4), every=True):\n    did(n)", "every=True"),
        ("for n in resumable(range(4), every=1.5):\n    did(n)", "every=1.5"),
        ("for n in resumable(range(4), seconds=0):\n    did(n)", "seconds=0"),
        ("for n in resumable(range(4), share=2):\n    did(n)", "share=2"),
        ("for n in resumable(4):\n    did(n)", "a int is nothing"),
    ],
)
def test_where_it_would_not_be_right_it_is_refused(did, body, why):
    """Before the first item, with what to write instead."""
    lab = lab_of(did, body)
    errors: list[BaseException] = []

    def caught(go) -> None:
        try:
            go()
        except Exception as error:  # noqa: BLE001 - told to the test
            errors.append(error)

    lab.tools |= {"caught": caught, "errors": errors}
    k = lab.kernel()
    k.go()

    assert why in k.last.text
    assert did.items == []


def test_outside_of_a_step_it_is_refused(did):
    """A plain cell has no progress."""
    lab = Lab(plain=(HEAD + SUM).replace("%%step train\n", ""))
    lab.tools["did"] = did
    k = lab.kernel()
    k.go()

    assert "begins with %%step NAME" in k.last.text
    assert did.items == []


# -- doubt, fences, failures -------------------------------------------------------


def test_progress_does_not_overrule_doubt(did):
    """A step that declares effects is refused; a person's retry goes on from it."""
    lab = lab_of(did, SUM)
    lab.edit(train=(HEAD + SUM).replace("%%step train", "%%step train --effects"))
    did.dies_at = {7}
    killed(lab)
    k = lab.kernel()
    k.go()
    assert k.last.how == "refused"
    assert k.state("train") is State.AMBIGUOUS
    answer = Answer(how=How.RETRY, because="looked")
    k.parts.recovery.resolve("train", answer)
    k.go()

    assert did.items == [0, 1, 2, 3, 4, 5, 6, 6, 7, 8, 9]


def test_effects_in_a_loop_are_replayed_item_by_item(did):
    """An item that is done again calls nothing again."""
    body = (
        "from nbresume import effect\nmade = []\n"
        "for n in resumable(range(6), every=3, bar=False):\n"
        "    made.append(effect(f'mail-{n}', did, n) or n)\n    late(n)"
    )
    lab = lab_of(did, body)
    lab.tools["late"] = dies = Outside()
    dies.dies_at = {4}
    killed(lab)
    k = lab.kernel()
    k.go()

    assert did.items == list(range(6))
    assert k["made"] == list(range(6))


def test_what_the_items_that_are_done_did_outside_locks_the_step(did):
    """The attempt that commits saw nothing itself, and goes on with their work."""
    body = SUM.replace("did(n)", "reach(n)\n    did(n)")
    lab = lab_of(did, body)
    lab.tools["reach"] = lambda n: (
        n or k.world.watch.fire("socket.connect", None, ("example.org", 443))
    )
    did.dies_at = {7}
    k = lab.kernel()
    k.go()
    k = lab.kernel()
    k.go()
    assert k.state("train") is State.AMBIGUOUS
    answer = Answer(how=How.RETRY, because="looked")
    k.parts.recovery.resolve("train", answer)
    lab.tools["reach"] = lambda _: None
    k = lab.kernel()
    k.go()

    assert did.items[7:] == [6, 7, 8, 9]
    assert k.commits("train").effects[0].startswith("it was seen")


def test_effects_of_items_that_are_done_lock_the_step(did):
    """Also if no item that is done again asks for one."""
    body = SUM.replace(
        "did(n)", "did(n)\n    if n == 0:\n        effect('mail', print, 'once')"
    )
    lab = lab_of(did, "from nbresume import effect" + body)
    did.dies_at = {7}
    killed(lab)
    k = lab.kernel()
    k.go()

    assert k.commits("train").effects == ["it made the effect 'mail'"]


def test_inputs_come_back_in_the_same_kernel_too(did):
    """Ctrl-C, the cell again: an input that was changed in place is as it was saved."""
    body = (
        "for n in resumable(range(6), every=2, bar=False):\n"
        "    rows.append(n)\n    box['n'] = n\n    did(n)"
    )
    lab = lab_of(did, body, made="%%step made\nrows, box = [], {}\nsame = rows")
    did.dies_at, did.raises = {3}, KeyboardInterrupt()
    k = lab.kernel()
    k.go()
    k.go("train")

    assert did.items == [0, 1, 2, 2, 3, 4, 5]
    assert (k["rows"], k["box"]) == (list(range(6)), {"n": 5})
    assert k["same"] is k["rows"]
    assert k.commits("train").in_place == ["box", "rows", "same"]


def test_a_fenced_kernel_stops_at_its_next_progress(did):
    """It does no further item, and what it saved before is gone on from elsewhere."""
    lab = lab_of(did, SUM)
    other = []

    def take_over(n: int) -> None:
        did(n)
        if n == 4:
            k2 = lab.kernel()
            k2.parts.claims.ensure(k2.session.order(), take_over=True)
            other.append(k2)

    lab.tools["did"] = take_over
    k = lab.kernel()
    k.go()
    assert k.last.how == "fenced"
    assert did.items == [0, 1, 2, 3, 4, 5]
    k.kill()
    lab.tools["did"] = did
    k3 = lab.kernel()
    k3.go()

    assert did.items[6:] == [3, 4, 5, 6, 7, 8, 9]
    assert k3["total"] == 45


def test_with_nobody_there_progress_begins_the_count_anew(did):
    """A loop that gets on is not stopped after three kills; one that does not is."""
    lab = lab_of(did, SUM.replace("range(10)", "range(20)"))
    did.dies_at = {4, 8, 12, 16, 18}
    for _ in range(5):
        killed(lab, attended=False)
    assert len(did.items) == 18
    kills, k = 0, lab.kernel(attended=False)
    while kills < 9 and k.last.how != "refused":
        lab.tools["did"] = stuck = Outside()
        stuck.dies_at = {0}
        k = lab.kernel(attended=False)
        k.go()
        kills += k.last.how == "killed"

    assert "times in a row with nobody there" in k.last.text
    assert kills <= 3


def test_a_disk_that_is_full_stops_the_loop_and_loses_only_its_share(did):
    """The error is told; run again, it goes on from the progress before."""
    lab = lab_of(did, SUM)
    k = lab.kernel()

    def fill(n: int) -> None:
        did(n)
        lab.backend.free = 0 if n == 5 and len(did.items) == 6 else None

    lab.tools["did"] = fill
    k.namespace["__builtins__"]["did"] = fill
    k.go()
    assert "bytes left" in k.last.text or "left" in k.last.text
    lab.backend.free = None
    k.go()

    assert did.items == [0, 1, 2, 3, 4, 5, 3, 4, 5, 6, 7, 8, 9]
    assert k["total"] == 45


# -- what is stored ----------------------------------------------------------------


def test_what_is_stored_is_not_stored_again(did):
    """Neither by the next progress nor by the commit."""
    body = (
        "big = bytes(range(256)) * 8192\ncount = [0]\n"
        "for n in resumable(range(9), every=3, bar=False):\n"
        "    count[0] += 1\n    did(n)"
    )
    k = lab_of(did, body).kernel()
    k.go()
    sizes = [record.payload_bytes for record in progress_of(k)]

    assert sizes[0] > 2 << 20
    assert max(*sizes[1:], k.commits("train").payload_bytes) < 10_000
    assert verify(k.journal).problems == []


def test_progress_is_published_and_verified(did):
    """Its groups are named, and plain zarr sees them."""
    k = lab_of(did, SUM).kernel()
    k.go()
    groups = [record.manifest.group for record in progress_of(k)]

    assert groups == [f"{k.commits('train').attempt}-progress-{n}" for n in (1, 2, 3)]
    assert all(k.journal.objects.is_published(group) for group in groups)


def test_damaged_progress_is_refused_with_the_way_out(did):
    """Nothing is guessed: the loop starts from its inputs when somebody says so."""
    lab = lab_of(did, SUM)
    did.dies_at = {7}
    k = killed(lab)
    group = progress_of(k)[-1].manifest.group
    for key in [key for key in lab.backend.files if f"/{group}/" in key]:
        lab.backend.delete(key)
    k = lab.kernel()
    k.go()
    assert "does not go on from its progress" in k.last.text
    k.parts.recovery.rerun("train", because="it is damaged")
    k.go()

    assert did.items[7:] == list(range(10))
    assert k["total"] == 45


# -- how often ---------------------------------------------------------------------


def _positions(lab: Lab) -> list[int]:
    k = lab.kernel()
    k.go()
    return [record.position for record in progress_of(k) if not record.finished]


def test_seconds_and_share_say_when_it_is_saved(did):
    """By the clock, and not more often than saving may cost."""
    for options, expected in (
        ("seconds=20", [2, 4, 6, 8]),
        ("every=3", [3, 6, 9]),
        ("every=3, seconds=20", [2, 4, 6, 8]),
        ("", [3, 6, 9]),
        ("share=1", list(range(1, 10))),
    ):
        lab = lab_of(did, SUM.replace("every=3", options).replace(", ,", ","))
        lab.tools["did"] = lambda _, lab=lab: lab.clock.advance(10)
        assert _positions(lab) == expected, options


# -- what people see ---------------------------------------------------------------


def test_people_see_how_far_it_has_come(did):
    """In the view, and in the audit trail."""
    lab = lab_of(did, SUM)
    did.dies_at = {7}
    killed(lab)
    k = lab.kernel()
    step = k.step("train")

    assert step.state is State.INTERRUPTED
    assert step.progress is not None
    assert (step.progress.position, step.progress.total) == (6, 10)
    assert step.progress.text == "at item 6 of 10"


def test_of_loops_in_each_other_both_are_told(did):
    """The outer one first."""
    lab = lab_of(did, NESTED)
    did.dies_at = {9}
    killed(lab)

    assert lab.kernel().step("train").progress.text == (
        "at item 1 of 3, in it at item 4 of 5"
    )
