"""Files are inputs and outputs of steps, as the audit hook or the code tells them."""

import pytest
from unit.run.fakes import Lab

CELLS = {
    "load": "%%step load\nx = disk.read('a.csv')",
    "total": "%%step total\nt = len(x)",
}


def lab_with(*, files=None, **cells):
    """Return a lab with files on its disk, and a kernel that ran all its cells."""
    lab = Lab(**cells)
    for name, text in (files or {}).items():
        lab.disk.put(name, text)
    k = lab.kernel()
    assert k.go() == [c.split()[1] for c in cells.values() if c.startswith("%%step")]
    return lab, k


def test_a_file_that_did_not_change_is_not_read_again():
    """Its place, size and times say enough."""
    lab, k = lab_with(files={"a.csv": "1"}, **CELLS)
    lab.disk.read.clear()

    assert k.restart().go() == []
    assert lab.disk.read == []


def test_a_file_that_changed_runs_its_reader_again():
    """And what is below, if the value is another one."""
    lab, k = lab_with(files={"a.csv": "1"}, **CELLS)
    lab.disk.put("a.csv", "22")
    k = k.restart()

    assert k.go() == ["load", "total"]
    assert k["t"] == 2
    assert k.restart().go() == []


def test_the_line_names_the_file():
    """So that nobody wonders."""
    lab, k = lab_with(files={"a.csv": "1"}, **CELLS)
    lab.disk.put("a.csv", "2")

    assert "step load runs again: a.csv changed" in k.run("load").text


def test_a_file_that_was_only_touched_is_compared_by_its_content():
    """New times alone make nothing stale."""
    lab, k = lab_with(files={"a.csv": "1"}, **CELLS)
    lab.disk.touch("a.csv")

    assert k.restart().go() == []
    assert lab.disk.read[-1] == "a.csv"


def test_a_file_that_vanished_makes_its_reader_stale():
    """The step then says itself what it misses."""
    lab, k = lab_with(files={"a.csv": "1"}, **CELLS)
    lab.disk.drop("a.csv")
    ran = k.restart().run("load")

    assert ran.how == "failed"
    assert "a.csv is gone" in ran.text


def test_a_file_that_was_missing_and_is_there_now():
    """A step may ask for a file that is not there."""
    body = "try:\n    x = disk.read('a.csv')\nexcept OSError:\n    x = ''"
    lab, k = lab_with(load=f"%%step load\n{body}")
    assert k.restart().go() == []
    lab.disk.put("a.csv", "1")
    ran = k.restart().run("load")

    assert ran.how == "ran"
    assert "a.csv is there now" in ran.text


@pytest.mark.parametrize("name", ["/packages/lib/data.json", "/packages/x.py"])
def test_what_belongs_to_packages_is_no_input(name):
    """An upgrade of a library is told, and makes nothing stale."""
    _, k = lab_with(files={name: "1"}, load=f"%%step load\nx = disk.read({name!r})")

    assert k.commits("load").files == {}


def test_a_file_that_is_read_and_written_is_made_only():
    """A counter is no reason to run again for ever."""
    body = "n = int(disk.read('n')) + 1\ndisk.write('n', str(n))"
    lab, k = lab_with(files={"n": "1"}, count=f"%%step count\n{body}")
    record = k.commits("count")

    assert (list(record.files), list(record.made)) == ([], ["n"])
    assert k.restart().go() == []
    assert lab.disk.files["n"] == b"2"


def test_a_file_that_is_added_to_is_neither():
    """Every step may write into one log."""
    cells = {
        name: f"%%step {name}\ndisk.append('log', '{name}\\n')" for name in ("a", "b")
    }
    lab, k = lab_with(**cells)

    assert k.commits("a").appended == ["log"]
    assert k.restart().go() == []
    assert lab.disk.files["log"] == b"a\nb\n"


def test_what_was_made_is_durable_and_missed():
    """A file that is gone is made again; what is below stays if it comes out equal."""
    lab, k = lab_with(
        make="%%step make\ndisk.write('out', '1')",
        use="%%step use\ny = disk.read('out')",
    )
    assert lab.disk.flushed == ["out"]
    lab.disk.drop("out")
    k = k.restart()

    assert "out is gone" in k.run("make").text
    assert k.run("use").how == "replayed"


def test_a_made_file_that_somebody_changed_is_made_again():
    """What stands there is not what the step left."""
    lab, k = lab_with(make="%%step make\ndisk.write('out', '1')")
    lab.disk.put("out", "by hand")

    assert "out is not as the step left it" in k.restart().run("make").text


def test_a_later_step_may_rewrite_what_an_earlier_one_read():
    """Run All is quiet: it comes to the later step anyway."""
    _, k = lab_with(
        files={"a.csv": "1"},
        read="%%step read\nx = disk.read('a.csv')",
        write="%%step write\ndisk.write('a.csv', '2')",
    )

    assert k.restart().go() == []


def test_what_a_step_wrote_whose_cell_is_gone_is_a_change():
    """Run All does not come to it: a clean run would read what is there."""
    lab, k = lab_with(
        files={"a.csv": "1"},
        read="%%step read\nx = disk.read('a.csv')",
        write="%%step write\ndisk.write('a.csv', '2')",
    )
    lab.delete("write")
    k = k.restart()

    assert k.go() == ["read"]
    assert k["x"] == "2"


def test_what_a_step_above_made_anew_counts_although_a_later_one_rewrote_it():
    """The demanded content is that of the nearest step above."""
    lab, k = lab_with(
        make="%%step make\ndisk.write('f', '1')",
        read="%%step read\nx = disk.read('f')",
        write="%%step write\ndisk.write('f', '3')",
    )
    lab.edit(make="%%step make\ndisk.write('f', '2')")
    k.go("make")
    k.go("write")
    lab.disk.put("f", "3")

    assert k.run("read").how == "ran"


def test_later_steps_may_add_to_what_was_read_or_made():
    """It still begins with all that it was."""
    lab, k = lab_with(
        make="%%step make\ndisk.write('log', 'a')",
        read="%%step read\nx = disk.read('log')",
        add="%%step add\ndisk.append('log', 'b')",
    )
    assert k.restart().go() == []
    lab.disk.put("log", "zz")

    assert "make" in k.restart().go()


def test_a_reader_below_follows_the_file_that_the_step_above_makes():
    """The edit reaches it through the disk alone."""
    lab, k = lab_with(
        make="%%step make\ndisk.write('out', '1')",
        use="%%step use\ny = disk.read('out')",
    )
    lab.edit(make="%%step make\ndisk.write('out', '2')")
    k = k.restart()

    assert k.go() == ["make", "use"]
    assert k["y"] == "2"


def test_an_undone_edit_finds_its_commit_and_its_files():
    """The older commit read another file; what it made must be there still."""
    lab, k = lab_with(
        files={"a": "1", "b": "2"}, load="%%step load\nx = disk.read('a')"
    )
    first = lab.notebook.sources["load"]
    lab.edit(load="%%step load\nx = disk.read('b')")
    assert k.go() == ["load"]
    lab.edit(load=first)

    assert k.go() == []
    assert k["x"] == "1"
    lab.edit(load="%%step load\nx = disk.read('b')")
    lab.disk.put("b", "3")
    assert k.go() == ["load"]


def test_an_undone_edit_that_left_another_file_runs_again():
    """The file holds what the edited step wrote."""
    lab, k = lab_with(make="%%step make\ndisk.write('out', '1')")
    first = lab.notebook.sources["make"]
    lab.edit(make="%%step make\ndisk.write('out', '2')")
    assert k.go() == ["make"]
    lab.edit(make=first)

    assert k.go() == ["make"]
    assert lab.disk.files["out"] == b"1"


def test_a_changed_file_that_is_put_back_finds_its_commit():
    """The key is the same again."""
    lab, k = lab_with(files={"a.csv": "1"}, **CELLS)
    lab.disk.put("a.csv", "22")
    assert k.go() == ["load", "total"]
    lab.disk.put("a.csv", "1")

    assert k.go() == []
    assert k["x"] == "1"


def test_a_listed_folder_is_an_input():
    """A new entry counts; what later steps put there does not."""
    lab, k = lab_with(
        files={"d/a": "1"},
        look="%%step look\nnames = disk.listdir('d')",
        make="%%step make\ndisk.write('d/out', '1')",
    )
    assert k.restart().go() == []
    lab.disk.put("d/b", "1")

    assert k.restart().go() == ["look"]


def test_a_glob_is_an_input_by_what_it_matches():
    """Files that it does not match may come and go."""
    lab, k = lab_with(
        files={"d/a.csv": "1"},
        look="%%step look\nnames = disk.glob('d/*.csv')",
    )
    lab.disk.put("d/b.txt", "1")
    assert k.restart().go() == []
    lab.disk.put("d/b.csv", "1")

    assert k.restart().go() == ["look"]


def test_folders_moves_and_removals_are_outputs():
    """What is not as it was left makes its step stale."""
    body = "disk.mkdir('d')\ndisk.write('t', '1')\ndisk.rename('t', 'd/t')"
    lab, k = lab_with(make=f"%%step make\n{body}")
    assert set(k.commits("make").made) == {"d", "d/t"}
    assert k.restart().go() == []
    lab.disk.drop("d")
    assert k.restart().go() == ["make"]


def test_a_removed_file_that_is_back_is_removed_again():
    """The step left it absent."""
    lab, k = lab_with(files={"t": "1"}, clean="%%step clean\ndisk.remove('t')")
    assert k.restart().go() == []
    lab.disk.put("t", "1")
    ran = k.restart().run("clean")

    assert ran.how == "ran"
    assert "t is there again" in ran.text


def test_a_file_that_only_the_code_names_counts():
    """Some libraries read without a word to Python."""
    lab, k = lab_with(files={"a.pq": "1"}, load="%%step load\nx = disk.scan('a.pq')")
    lab.disk.put("a.pq", "2")

    assert k.restart().go() == ["load"]


@pytest.mark.parametrize(
    "plain",
    [
        "p = 'a.pq'",
        "from pathlib import PurePath\np = PurePath('a.pq')",
        "p = ['a.pq']",
    ],
)
def test_a_file_that_an_input_names_counts(plain):
    """The path may stand in a plain cell."""
    lab, k = lab_with(
        files={"a.pq": "1"},
        p=plain,
        load="%%step load\nx = disk.scan(str(p[0] if isinstance(p, list) else p))",
    )
    lab.disk.put("a.pq", "2")

    assert k.restart().go() == ["load"]


def test_a_file_that_a_function_of_the_notebook_names_counts():
    """It is called by the step."""
    lab, k = lab_with(
        files={"a.pq": "1"},
        f="def f():\n    return disk.scan('a.pq')",
        load="%%step load\nx = f()",
    )
    lab.disk.put("a.pq", "2")

    assert k.restart().go() == ["load"]


def test_a_file_that_only_the_code_names_and_the_step_wrote_is_made():
    """Nobody was seen writing it, and it is there now, or is another one."""
    lab, k = lab_with(
        files={"old": "1"},
        make="%%step make\ndisk.sink('old', '2')",
    )
    assert list(k.commits("make").made) == ["old"]
    lab.disk.drop("old")

    assert k.restart().go() == ["make"]


def test_what_somebody_else_changed_while_the_step_ran_cannot_be_compared():
    """Which of the two contents was read is not known: never "unchanged"."""
    _, k = lab_with(
        files={"a": "1"},
        load="%%step load\nx = disk.read('a')\np = 'not a path'\ndisk.sink('a', '2')",
    )
    ran = k.restart().run("load")

    assert ran.how == "ran"
    assert "cannot compare a: it changed while the step ran" in ran.text


@pytest.mark.parametrize(
    "why", ["it is a FIFO", "it cannot be read (Permission denied)"]
)
def test_a_declared_file_without_a_stable_state_is_stale_with_the_reason(why):
    """A FIFO is never opened."""
    lab = Lab(load="%%step load --reads pipe\nx = 1")
    lab.disk.strange["pipe"] = why
    k = lab.kernel()
    assert k.go() == ["load"]
    ran = k.restart().run("load")

    assert ran.how == "ran"
    assert f"cannot compare pipe: {why}" in ran.text


def test_reads_declares_files_folders_and_globs():
    """What no hook and no text can tell."""
    lab = Lab(load="%%step load --reads d --reads *.csv --reads one\nx = 1")
    for name in ("d/a", "a.csv", "one", "other"):
        lab.disk.put(name, "1")
    lab.disk.folders.add("d")
    k = lab.kernel()
    k.go()
    lab.disk.put("other", "2")
    assert k.restart().go() == []
    for name in ("d/b", "b.csv", "one"):
        lab.disk.put(name, "2")
        assert k.restart().go() == ["load"], name


def test_a_new_declaration_counts_at_once():
    """The commit did not know that file."""
    lab, k = lab_with(files={"a": "1"}, load="%%step load\nx = 1")
    lab.edit(load="%%step load --reads a\nx = 1")

    assert "a is new behind --reads" in k.run("load").text
    assert k.restart().go() == []


def test_a_step_without_files_asks_the_disk_nothing():
    """It pays for what it uses."""
    lab, k = lab_with(a="%%step a\nx = 1")

    assert lab.disk.read == []
    assert k.commits("a").files == k.commits("a").made == {}


def test_very_many_files_are_one_row_for_their_folder():
    """A record stays small; each of them counts all the same."""
    files = {f"d/{i}": str(i) for i in range(600)} | {"one": "1"}
    body = "x = [disk.read(f'd/{i}') for i in range(600)] + [disk.read('one')]"
    lab, k = lab_with(files=files, load=f"%%step load\n{body}")

    assert sorted(k.commits("load").files) == ["d/*", "one"]
    assert k.restart().go() == []
    lab.disk.put("d/77", "other")
    assert k.restart().go() == ["load"]
