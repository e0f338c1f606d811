"""The intent: ambient values durable before the body, each once."""

from unit.run.fakes import Lab

from nbresume.run.intents import LARGE_BYTES, idempotency_key


def intent_of(k, step):
    """Return the newest intent of a step."""
    return k.journal.state.step(step).attempt.intent


def test_an_ambient_value_that_is_read_is_stored_before_the_body():
    """A crash in the body does not lose it."""
    lab = Lab(p="k = [1]", a="%%step a\nx = k\ndie()")
    k = lab.kernel()
    k.go()
    intent = intent_of(k, "a")

    assert intent.ambient["k"].cells[0][0] == "p"
    assert intent.ambient["k"].manifest == 0
    assert intent.inputs["k"] == intent.ambient["k"].version


def test_an_ambient_value_is_stored_once():
    """A later intent refers to what an earlier one has stored."""
    lab = Lab(p="k = [1]", a="%%step a\nx = k", b="%%step b\ny = k")
    k = lab.kernel()
    k.go()
    one, two = intent_of(k, "a"), intent_of(k, "b")

    assert one.ambient_manifests == two.ambient_manifests
    assert len([key for key in lab.backend.files if "-ambient/pack/c" in key]) == 1


def test_ambient_values_that_no_step_reads_are_stored_up_to_the_limit():
    """They come back with resume."""
    lab = Lab(
        p="k = [1]\nunread = [2]", a="%%step a\nx = k", b="%%step b\nraise OSError"
    )
    k = lab.kernel()
    k.go()
    k = k.restart()
    k.resume()

    assert k["unread"] == [2]


def test_beyond_the_limit_unread_values_are_named():
    """Once; what is read is stored all the same."""
    lab = Lab(
        p="k = [1]\nunread = list(range(9999))",
        a="%%step a\nx = k",
        b="%%step b\ny = k",
    )
    k = lab.kernel(ambient_limit_bytes=1000)
    k.go()
    told = [line for line in k.screen.said if "ambient_limit" in line]

    assert len(told) == 1
    assert told[0].endswith(": unread")
    assert intent_of(k, "a").ambient.keys() == {"k"}
    k = k.restart()
    assert k.go("a", "b") == []
    assert (k["x"], "unread" in k) == ([1], False)


def test_a_value_that_is_read_is_stored_beyond_the_limit():
    """What a step read has to last."""
    lab = Lab(p="k = list(range(9999))", a="%%step a\nn = len(k)")
    k = lab.kernel(ambient_limit_bytes=1000)
    k.go()

    assert k.restart().go("a") == []


def test_only_unread_values_beyond_the_limit_are_left_out():
    """When nothing is read there is nothing to store."""
    lab = Lab(p="unread = list(range(9999))", a="%%step a\nx = 1")
    k = lab.kernel(ambient_limit_bytes=1000)
    k.go()

    assert intent_of(k, "a").ambient_manifests == []


def test_a_big_ambient_value_is_worth_a_hint():
    """Its cell could be a step."""
    lab = Lab(
        p=f"import array\nbig = array.array('b', bytes({LARGE_BYTES}))",
        a="%%step a\nn = len(big)",
    )
    k = lab.kernel()
    k.go()

    assert any("make that cell a step to store it once" in s for s in k.screen.said)


def test_an_ambient_value_that_cannot_be_kept_is_noted_without_a_place():
    """The step runs in this kernel; nothing is promised for another one."""
    lab = Lab(p="g = (v for v in [1])", a="%%step a\nx = g is None")
    k = lab.kernel()
    k.go()

    assert intent_of(k, "a").ambient["g"].manifest == -1


def test_modules_of_plain_cells_are_noted_once():
    """So that resume can import them again."""
    lab = Lab(
        p="import json\nfrom json import dumps as d",
        a="%%step a\nx = d([1])",
        b="%%step b\ny = d([2])",
    )
    k = lab.kernel()
    k.go()

    assert intent_of(k, "a").modules == {"json": "json", "d": "json:dumps"}
    assert intent_of(k, "b").modules == {}


def test_the_header_stands_in_the_intent():
    """What was declared when it ran decides, whatever is typed later."""
    lab = Lab(
        z="%%step z\nq = 1",
        a="%%step a --effects --retry --reads v.csv --after z\nx = 1",
    )
    k = lab.kernel()
    k.go()
    options = intent_of(k, "a").options

    assert (options.effects, options.retry, options.always) == (True, True, False)
    assert (options.reads, options.after) == (["v.csv"], ["z"])


def test_the_idempotency_key_is_stable_across_attempts_and_crashes():
    """It depends on run and step alone."""
    lab = Lab(a="%%step a\ndie()")
    k = lab.kernel()
    k.go()
    first = intent_of(k, "a").idempotency_key
    lab.edit(a="%%step a\nx = 1")
    k = lab.kernel()
    k.go()

    assert intent_of(k, "a").idempotency_key == first
    assert first == idempotency_key(k.run_id, "a")
    assert first != idempotency_key(k.run_id, "b")


def test_object_ids_are_not_given_twice_across_kernels():
    """A later kernel goes on where the former one stopped."""
    lab = Lab(p="k = [1]", a="%%step a\nx = [k]", b="%%step b\ny = [2]")
    k = lab.kernel()
    k.go("p", "a")
    taken = {o.object for o in k.commits("a").outputs.values()}
    k = k.restart()
    k.go()

    assert taken.isdisjoint(o.object for o in k.commits("b").outputs.values())


def test_what_a_plain_cell_gave_a_step_is_seen_as_its_own():
    """A change of a step's output counts on the version that it was made on."""
    lab = Lab(a="%%step a\nL = [1]", p="L.append(2)", b="%%step b\nn = len(L)")
    k = lab.kernel()
    k.go()

    assert intent_of(k, "b").ambient["L"].base == k.commits("a").outputs["L"].version
