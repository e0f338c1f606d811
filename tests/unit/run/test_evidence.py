"""Evidence in the sequence: noted before the call, absorbed by the outcome, judged."""

import errno

import pytest
from unit.run.fakes import Lab

from nbresume.errors import ErrorKind
from nbresume.model.states import State
from nbresume.model.values import How
from nbresume.run.evidence import MOST_KINDS
from nbresume.run.history import events
from nbresume.run.recovery import Answer
from nbresume.settings import Undeclared
from nbresume.store import disk

CURL = "fire('os.system', 'curl tok-123 http://x')"
SEEN = "it was seen starting the program curl"
KILLED = f"if armed():\n    {CURL}\n    die()\nz = x"


class Armed(Lab):
    """A lab whose bodies ask `armed` whether to act and die."""

    def __init__(self, **cells):
        super().__init__(**cells)
        self.is_armed = True
        self.tools["armed"] = lambda: self.is_armed


def cut_off(header="%%step m", body=KILLED, below="%%step b\ny = z", **settings):
    """Return a lab whose step m was killed after its calls, and a fresh kernel."""
    lab = Armed(a="%%step a\nx = 1", m=f"{header}\n{body}", b=below)
    k = lab.kernel()
    k.go()
    assert k.last.how == "killed"
    lab.is_armed = False
    return lab, lab.kernel(**settings)


def notes(lab):
    """Return the keys of all notes."""
    return [key for key in lab.backend.files if key.startswith("seen/")]


def record_of(k, step="m"):
    """Return the step's commit record."""
    return k.journal.state.commit(step).record


# -- the note --------------------------------------------------------------------


def test_the_note_is_durable_before_the_call_proceeds():
    """What runs right behind the event finds it, also after a power cut."""
    lab = Lab(m=f"%%step m\n{CURL}\nlook()")
    found = []

    def look():
        lab.backend.lose_power()
        found.extend(notes(lab))

    lab.tools["look"] = look
    k = lab.kernel()
    k.go()

    attempt = k.journal.state.step("m").attempt.intent.attempt
    assert found == [f"seen/{k.run_id}/{attempt}"]
    assert b"curl" in lab.backend.files[found[0]]
    assert b"tok-123" not in b"".join(lab.backend.files.values()).replace(
        lab.notebook.sources["m"].encode(), b""
    )


def test_a_step_that_does_nothing_outside_writes_no_note():
    """No file, no field, no word."""
    lab = Lab(a="%%step a\nx = 1", p="fire('os.system', 'curl')")
    k = lab.kernel()
    k.go()

    assert notes(lab) == []
    assert record_of(k, "a").seen == record_of(k, "a").effects == []
    assert k.screen.said == []


def test_only_the_first_call_is_written():
    """Later ones are counted in memory, and stand in the commit."""
    lab = Lab(m=f"%%step m\nfor _ in range(3):\n    {CURL}\nfire('os.fork')")
    k = lab.kernel()
    k.go()

    writes = [key for name, key in lab.backend.operations if name == "create"]
    assert len([key for key in writes if key.startswith("seen/")]) == 1
    first, second = record_of(k).seen
    assert (first.what, first.calls) == ("starting the program curl", 3)
    assert (second.what, second.calls) == ("forking the kernel", 1)


def test_kinds_of_calls_are_limited():
    """A step that connects to a thousand hosts has a short record."""
    body = "for n in range(40):\n    fire('os.system', f'program{n}')"
    lab = Lab(m=f"%%step m\n{body}")
    k = lab.kernel()
    k.go()

    seen = record_of(k).seen
    assert len(seen) == MOST_KINDS + 1
    assert seen[-1].what == "doing other things outside"
    assert sum(sighting.calls for sighting in seen) == 40


def test_what_cannot_be_understood_counts():
    """The hook never raises into the body; unknown is the safe side."""
    lab = Lab(m="%%step m\nfire('os.system', 1, 2)\nz = 1")
    k = lab.kernel()

    assert k.go() == ["m"]
    assert record_of(k).effects == [
        "it was seen doing what could not be understood (os.system)"
    ]


def test_a_note_that_cannot_be_written_is_kept_and_told():
    """The body goes on, the person hears of it, and the next call tries again."""
    lab = Lab(m=f"%%step m\n{CURL}\n{CURL}\nraise ValueError")
    k = lab.kernel()
    full = disk.told(OSError(errno.ENOSPC, ""), "the note was not written")
    lab.tools["fill"] = lambda: lab.backend.fail_at("create", 1, full)
    lab.edit(m=f"%%step m\nfill()\n{CURL}\nbetween()\n{CURL}\nraise ValueError")
    lab.tools["between"] = lambda: said.append((notes(lab), list(k.screen.said)))
    said: list = []
    k = lab.kernel()
    k.go()

    written, told = said[0]
    assert written == []
    assert "nobody will know" in told[0]
    assert "the disk is full" in told[0]
    assert len(notes(lab)) == 1
    assert k.last.how == "failed"
    assert k.journal.state.step("m").attempt.failed.seen[0].calls == 2


def test_a_call_that_was_seen_holds_in_this_kernel_without_a_note():
    """Neither the note nor the outcome could be written: the step is in doubt."""
    lab = Armed(
        m=f"%%step m\nif armed():\n    fill()\n    {CURL}\n    raise ValueError"
    )
    full = disk.told(OSError(errno.ENOSPC, ""), "it was not written")

    def fill():
        for n in range(1, 9):
            lab.backend.fail_at("create", n, full)

    lab.tools["fill"] = fill
    k = lab.kernel()
    assert k.run("m").how == "RAN"
    lab.is_armed = False
    lab.backend._faults.clear()

    refused = k.run("m")

    assert notes(lab) == []
    assert refused.error.kind is ErrorKind.AMBIGUOUS
    assert SEEN in refused.text


def test_a_closed_screen_breaks_no_body():
    """What cannot be told is in the record all the same."""
    lab = Lab(m=f"%%step m\nclose()\n{CURL}\nopen_again()\nz = 1")
    full = disk.told(OSError(errno.ENOSPC, ""), "the note was not written")
    say = []

    def close():
        lab.backend.fail_at("create", 1, full)
        say.append(k.screen.say)
        k.screen.say = lambda _: 1 / 0

    lab.tools["close"] = close
    lab.tools["open_again"] = lambda: setattr(k.screen, "say", say[0])
    k = lab.kernel()

    assert k.go() == ["m"]
    assert k.last.how == "ran"
    assert record_of(k).effects == [SEEN]


def test_ctrl_c_during_the_note_stops_the_call():
    """The call does not proceed, and what was seen is in the record."""
    lab = Lab(m=f"%%step m\npress()\n{CURL}\nafter()")
    proceeded = []
    lab.tools["after"] = lambda: proceeded.append(1)
    lab.tools["press"] = lambda: lab.backend.fail_at("create", 1, KeyboardInterrupt())
    k = lab.kernel()
    k.go()

    failed = k.journal.state.step("m").attempt.failed
    assert failed.interrupted
    assert failed.seen[0].what == "starting the program curl"
    assert proceeded == []


def test_a_damaged_note_is_a_note():
    """That it is there counts; what it says is shown only if it is a plain line."""
    for note in (b"{", b'{"what":"a\\u001b[2J","at":"2026-11-05T12:00:00Z"}', b""):
        lab, k = cut_off()
        lab.backend.files[notes(lab)[0]] = note

        refused = k.restart().run("m")

        assert refused.error.kind is ErrorKind.AMBIGUOUS
        assert "it was seen reaching out (the note of it is damaged)" in refused.text


def test_a_call_inside_an_effect_is_no_evidence():
    """The effect has a record of its own."""
    lab = Lab(m=f"%%step m\n{CURL}\nleave()\n{CURL}")
    inside = [True]
    lab.tools["leave"] = inside.clear
    k = lab.kernel()
    k.parts.evidence._inside_effect = lambda: bool(inside)
    k.go()

    assert record_of(k).seen[0].calls == 1


def test_calls_between_steps_are_nobodys():
    """Once the body has ended nothing is watched."""
    lab = Lab(m="%%step m\nz = 1")
    k = lab.kernel()
    k.go()
    k.world.watch.fire("os.system", "curl")

    assert notes(lab) == []


# -- cut off ---------------------------------------------------------------------


def test_a_step_that_was_seen_and_cut_off_is_in_doubt():
    """The refusal says what was seen and when, and what to type; nothing runs."""
    lab, k = cut_off()
    before = dict(lab.backend.files)

    assert k.go() == []

    assert k.state("m") is State.AMBIGUOUS
    assert k.last.error.kind is ErrorKind.AMBIGUOUS
    for part in (
        "ambiguous (in doubt)",
        f"{SEEN} at ",
        "and was cut off",
        "Started 2026-11-05",
        "%steps resolve m retry | evidence | abandon --because TEXT",
        "%%step m --pure",
    ):
        assert part in k.last.text
    assert "tok-123" not in k.last.text
    assert "m above it is ambiguous" in k.run("b").text
    assert lab.backend.files == before


def test_every_face_says_the_same():
    """The table that the panel shows names what was seen and what to type."""
    lab, k = cut_off()
    k.go()
    step = next(s for s in lab.inspect(k.run_id).view().steps if s.name == "m")

    assert step.state is State.AMBIGUOUS
    assert step.reasons == [SEEN]
    assert "%steps resolve m retry | evidence | abandon" in step.remedy
    assert "%%step m --pure" in step.remedy


@pytest.mark.parametrize("option", ["--pure", "--always"])
def test_the_authors_word_outweighs_what_was_seen(option):
    """Declared in the intent, calls that only read are no doubt."""
    lab, k = cut_off(f"%%step m {option}")

    assert len(notes(lab)) == 1
    assert k.go() == ["m", "b"]


@pytest.mark.parametrize("option", ["--pure", "--always"])
def test_a_declaration_typed_later_is_a_resolution(option):
    """It lets the step run, with who and what they were told; nothing is relabelled."""
    lab, k = cut_off()
    lab.edit(m=f"%%step m {option}\n{KILLED}")

    assert k.go() == ["m", "b"]

    resolution = next(
        link.envelope.payload
        for link in k.journal.envelopes()
        if link.envelope.kind == "nbresume.resolution"
    )
    assert resolution["actor"] == "someone"
    assert resolution["policy"] == f"{option}, typed after it ran"
    assert resolution["acknowledged"][0] == SEEN
    assert record_of(k).effects == []


def test_pure_typed_later_does_not_answer_declared_effects():
    """Who said that it acts outside has to say what happened."""
    lab, k = cut_off("%%step m --effects")
    lab.edit(m=f"%%step m --pure\n{KILLED}")

    refused = k.run("m")

    assert refused.error.kind is ErrorKind.AMBIGUOUS
    assert "--pure" not in refused.text


def test_declared_effects_and_what_was_seen_are_both_told():
    """The refusal has both, and so has what is acknowledged."""
    _, k = cut_off("%%step m --effects")

    assert f"it declared --effects, {SEEN} at " in k.run("m").text
    record = k.parts.recovery.resolve("m", Answer(How.RETRY, "looked"))
    assert record.acknowledged[:2] == ["it declared --effects", SEEN]


def test_effects_typed_later_change_nothing():
    """The attempt is judged by what it declared and by what was seen."""
    lab, k = cut_off()
    lab.edit(m=f"%%step m --effects\n{KILLED}")

    assert SEEN in k.run("m").text


@pytest.mark.parametrize(
    ("body", "policy", "refused"),
    [
        (KILLED, Undeclared.EVIDENCE, True),
        (KILLED, Undeclared.RERUN, False),
        (KILLED, Undeclared.REFUSE, True),
        ("if armed():\n    die()\nz = x", Undeclared.EVIDENCE, False),
        ("if armed():\n    die()\nz = x", Undeclared.REFUSE, True),
    ],
)
def test_the_policy_for_undeclared_steps(body, policy, refused):
    """Evidence decides, or nothing does, or everything undeclared is refused."""
    _, k = cut_off(body=body, undeclared=policy)

    assert (k.go() == []) is refused


def test_the_strict_policy_is_answered_by_pure():
    """The author says that the step does not act outside."""
    lab, k = cut_off(body="if armed():\n    die()\nz = x", undeclared=Undeclared.REFUSE)
    assert "neither --effects nor --pure" in k.run("m").text
    lab.edit(m="%%step m --pure\nif armed():\n    die()\nz = x")

    assert k.go() == ["m", "b"]


def test_retry_acknowledges_what_was_told():
    """What was seen, how often, how long it took, and what may repeat below."""
    lab, k = cut_off()
    lab.is_armed = False
    k.parts.recovery.resolve("m", Answer(How.RETRY, "nothing arrived"))
    k.go()
    lab.is_armed = True
    lab.edit(m="%%step m\nif armed():\n    sleep()\n" + KILLED + " + 1")
    lab.tools["sleep"] = lambda: lab.clock.advance(90)
    k = lab.kernel()
    k.go()
    lab.is_armed = False
    k = lab.kernel()
    order = k.session.order()

    record = k.parts.recovery.resolve("m", Answer(How.RETRY, "looked"), order)

    assert record.acknowledged == [
        SEEN,
        "outside calls seen: at least 1",
        "it took at least 1 min 30 s, until its first such call",
        "steps below that may run again: b",
    ]
    assert k.go() == ["m", "b"]


def test_evidence_of_a_person_commits_what_was_seen():
    """The step counts as done, keeps its sightings, and is locked."""
    lab, k = cut_off(below="%%step b\ny = 1")
    k.parts.recovery.resolve(
        "m", Answer(How.EVIDENCE, "it arrived", kind="receipt", names_not_kept=["z"])
    )

    assert k.run("m").how == "replayed"
    assert record_of(k).effects == [SEEN]
    assert record_of(k).seen[0].what == "starting the program curl"
    lab.edit(m="%%step m\nz = 5")
    assert k.run("m").error.kind is ErrorKind.LOCKED


# -- failed ----------------------------------------------------------------------

RAISES = f"if armed():\n    {CURL}\n    raise ValueError\nz = x"


def failed(**settings):
    """Return a lab whose step m raised after a call, and its kernel."""
    lab = Armed(a="%%step a\nx = 1", m=f"%%step m\n{RAISES}")
    k = lab.kernel(**settings)
    k.go()
    assert k.state("m") is State.FAILED
    lab.is_armed = False
    return lab, k


def test_a_person_who_saw_the_traceback_runs_it_again_on_record():
    """It stays FAILED for them; running it is recorded as their retry."""
    lab, k = failed()
    assert k.step("m").reasons == ["it raised ValueError", SEEN]

    assert k.go() == ["m"]

    assert lab.records(k.run_id)[-4:] == ["failed", "resolution", "intent", "committed"]
    trail = [e for e in events(k.journal.envelopes()) if e.kind.endswith("resolution")]
    assert trail[0].actor == "someone"
    assert "could see how it ended" in trail[0].why


def test_a_body_that_ran_and_is_not_committed_runs_again_on_record():
    """The error said RAN: running it instead of `%steps commit` is their retry."""
    lab = Armed(m=f"%%step m\n{CURL}\nfill()\nz = 1")
    full = disk.told(OSError(errno.ENOSPC, ""), "it was not written")
    lab.tools["fill"] = lambda: lab.is_armed and lab.backend.fail_at("write", 1, full)
    k = lab.kernel()
    assert k.run("m").how == "RAN"
    assert k.state("m") is State.RAN
    lab.is_armed = False

    assert k.go() == ["m"]

    assert lab.records(k.run_id)[-3:] == ["resolution", "intent", "committed"]


def test_a_failure_with_evidence_that_nobody_saw_is_in_doubt():
    """`nbresume run` refuses it unless told to retry."""
    lab, k = failed(attended=False)
    k = lab.kernel(attended=False)

    refused = k.run("m")

    assert refused.error.kind is ErrorKind.AMBIGUOUS
    assert f"{SEEN} at " in refused.text
    assert "and failed" in refused.text
    assert lab.kernel(attended=False, retry=True).go() == ["m"]


@pytest.mark.parametrize("policy", Undeclared)
def test_a_failure_without_evidence_is_never_in_doubt(policy):
    """How it ended is known; the strict policy is about what was cut off."""
    lab = Armed(m="%%step m\nif armed():\n    raise ValueError\nz = 1")
    lab.kernel(attended=False, undeclared=policy).go()
    lab.is_armed = False

    assert lab.kernel(attended=False, undeclared=policy).go() == ["m"]


def test_a_retry_that_a_person_allowed_holds_with_nobody_there():
    """The decision was made; asking again would ask for ever."""
    lab, k = failed(attended=False)
    record = k.parts.recovery.resolve("m", Answer(How.RETRY, "looked"))

    assert record.acknowledged == [
        SEEN,
        "outside calls seen: 1",
        "it took 0 ms (0 ms of CPU)",
    ]
    assert lab.kernel(attended=False).go() == ["m"]


def test_an_interrupted_body_absorbs_what_was_seen():
    """Ctrl-C is a failure with evidence like any other."""
    lab = Lab(m=f"%%step m\n{CURL}\nraise KeyboardInterrupt")
    k = lab.kernel()
    k.go()
    trail = [event.text for event in events(k.journal.envelopes())]

    assert trail[-1] == f"was interrupted ({SEEN})"


# -- committed -------------------------------------------------------------------


def test_a_committed_step_that_was_seen_is_locked():
    """It is told at once; an edit is refused; a rerun needs a person's word."""
    lab = Lab(m=f"%%step m\n{CURL}\nz = 1")
    k = lab.kernel()
    k.go()
    assert "step m is locked from now on" in k.last.text
    assert record_of(k).effects == [SEEN]
    assert k.run("m").how == "replayed"
    lab.edit(m=f"%%step m\n{CURL}\nz = 2")

    refused = k.run("m")

    assert refused.error.kind is ErrorKind.LOCKED
    assert SEEN in refused.text
    assert "%%step m --pure" in refused.text
    assert k.step("m").effects == [SEEN]
    k.parts.recovery.rerun("m", because="once more")
    assert k.go() == ["m"]


@pytest.mark.parametrize("option", ["--pure", "--always"])
def test_evidence_is_shown_and_not_held_against_the_authors_word(option):
    """It stands in the record and in the view; the step is not locked."""
    lab = Lab(m=f"%%step m {option}\n{CURL}\nz = 1")
    k = lab.kernel()
    k.go()
    assert "locked" not in k.last.text
    assert record_of(k).effects == []
    assert k.step("m").effects == [SEEN]
    assert events(k.journal.envelopes())[-1].text == f"committed as number 1 ({SEEN})"
    lab.edit(m=f"%%step m {option}\n{CURL}\nz = 2")

    assert k.go() == ["m"]


@pytest.mark.parametrize("option", ["--pure", "--always"])
def test_a_declaration_typed_later_does_not_unlock(option):
    """A commit is judged by its own intent; then the author's word counts."""
    lab = Lab(m=f"%%step m\n{CURL}\nz = 1")
    k = lab.kernel()
    k.go()
    lab.edit(m=f"%%step m {option}\n{CURL}\nz = 2")
    assert k.run("m").error.kind is ErrorKind.LOCKED
    k.parts.recovery.rerun("m", because="it only reads")
    assert k.go() == ["m"]
    lab.edit(m=f"%%step m {option}\n{CURL}\nz = 3")

    assert k.go() == ["m"]


def test_declared_effects_and_evidence_stand_together():
    """Both reasons are in the record; nothing is told that was declared."""
    lab = Lab(m=f"%%step m --effects\n{CURL}")
    k = lab.kernel()
    k.go()

    assert record_of(k).effects == ["it declared --effects", SEEN]
    assert "locked from now on" not in k.last.text


def test_the_lax_policy_locks_nothing():
    """What was seen is shown."""
    lab = Lab(m=f"%%step m\n{CURL}")
    k = lab.kernel(undeclared=Undeclared.RERUN)
    k.go()

    assert record_of(k).effects == []
    assert record_of(k).seen


# -- nobody there ----------------------------------------------------------------


def test_a_retry_policy_has_the_same_limit_as_a_rerun():
    """A step that dies each time is not retried for ever with nobody there."""
    lab = Lab(m=f"%%step m --retry\n{CURL}\ndie()")
    for n in range(4):
        k = lab.kernel(attended=False)
        assert k.go() == ["m"]
        assert k.journal.state.step("m").attempt.intent.unattended == n

    refused = lab.kernel(attended=False).run("m")

    assert refused.error.kind is ErrorKind.REFUSED
    assert "interrupted 4 times in a row with nobody there" in refused.text


def test_a_step_that_fails_each_time_has_no_limit():
    """A failure is known; only what was cut off counts."""
    lab = Lab(m=f"%%step m --retry\n{CURL}\nraise ValueError")
    for _ in range(6):
        assert lab.kernel(attended=False).go() == ["m"]


def test_a_fenced_kernel_allows_no_retry():
    """That its cell was run again is a decision only while it holds the run."""
    lab = Lab(m="%%step m --effects\n1 / 0")
    one = lab.kernel()
    one.go()
    two = lab.kernel(run_id=one.run_id)

    def meanwhile():
        two.journal.refresh()
        two.parts.claims.ensure(two.session.order(), take_over=True)

    lab.backend.act_at("create", 1, meanwhile, late=False)
    assert one.run("m").error.kind is ErrorKind.FENCED
    two.journal.refresh()
    assert two.journal.state.step("m").attempt.resolution is None
