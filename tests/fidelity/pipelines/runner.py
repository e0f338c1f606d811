"""The two sides of a pipeline: the uninterrupted run, and kernels that restore it.

``python runner.py plain NAME OUT`` runs the cells with no product at all;
``python runner.py record NAME OUT`` runs them as steps and keeps what the store held
after each of them; ``python runner.py restore NAME IN OUT HOW AT …`` starts, for each
of these boundaries, a process that has seen none of the values, brings the namespace
to that boundary out of what the store held then, and describes it.

The digits of `HOW`: ``replay`` runs all cells from the top, as Run All does after a
restart; ``resume`` does what ``%steps resume`` does.
"""

import os
import pickle
import sys
import traceback
import warnings
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).parent
TESTS = HERE.parents[1]
sys.path[:0] = [str(HERE), str(TESTS)]

from describe import describe  # noqa: E402
from unit.run.fakes import Lab  # noqa: E402

from nbresume.plan.header import body_of  # noqa: E402

FIRST_ID = 10**6
"""Ids of a later process: none that the recording one has used."""


def cells_of(name):
    """Return the cells of a pipeline."""
    return {k: v.strip("\n") + "\n" for k, v in import_module(name).CELLS.items()}


def plain(name):
    """Return {cell: description} of a run without the product."""
    namespace, told = {"__name__": "__main__"}, {}
    for cell, source in cells_of(name).items():
        exec(compile(body_of(source), cell, "exec"), namespace)  # noqa: S102 - a cell
        told[cell] = apart(describe, namespace)
    return told


def record(name):
    """Return what a run as steps did: store, descriptions, what was not kept."""
    lab = Lab(**cells_of(name))
    kernel, rows, before = lab.kernel(), [], {}
    for cell in lab.notebook.sources:
        outcome = kernel.run(cell)
        assert outcome.how in ("ran", "plain"), (cell, outcome)
        files = dict(lab.backend.files)
        new = {k: v for k, v in files.items() if before.get(k) is not v}
        gone = before.keys() - files.keys()
        before = files
        row = {"cell": cell, "new": new, "gone": gone, "said": outcome.said}
        row["described"] = apart(describe, kernel.namespace)
        commit = kernel.journal.state.commit(cell)
        row["not_kept"] = dict(commit.record.not_kept) if commit else {}
        rows.append(row)
    return {"run_id": kernel.run_id, "rows": rows}


def restore(name, recorded, how, at):
    """Return what a kernel that has seen nothing has at a boundary."""
    rows = recorded["rows"][: at + 1]
    lab = Lab(**cells_of(name))
    lab.ids._count = FIRST_ID
    for row in rows:
        for key in row["gone"]:
            lab.backend.files.pop(key, None)
        lab.backend.files |= row["new"]
    kernel, said = lab.kernel(run_id=recorded["run_id"]), []
    records = len(lab.records(kernel.run_id))
    if how == "resume":
        kernel.resume()
        said = list(kernel.screen.said)
    else:
        for row in rows:
            outcome = kernel.run(row["cell"])
            assert outcome.how in ("replayed", "plain"), (row["cell"], outcome)
            said += outcome.said
    assert lab.ledger == [], lab.ledger
    for waiting in list(getattr(kernel.parts.live, "pending", ())):
        kernel.parts.live.load(waiting)
    return {
        "described": describe(kernel.namespace),
        "said": said,
        "grew": len(lab.records(kernel.run_id)) - records,
    }


def apart(work, *arguments):
    """Do it in a child process; what it reads there, it does not move here."""
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        os.close(reads)
        try:
            told = work(*arguments)
        except BaseException:  # noqa: BLE001 - told to the test
            told = {"failed": traceback.format_exc()}
        with open(writes, "wb") as file:  # noqa: PTH123 - a descriptor
            pickle.dump(told, file)
        os._exit(0)
    os.close(writes)
    with open(reads, "rb") as file:  # noqa: PTH123 - a descriptor
        told = pickle.load(file)  # noqa: S301 - of the child
    os.waitpid(child, 0)
    return told


def main(what, name, *arguments):
    """Do one side and write what it found."""
    # Libraries of the pipelines warn about each other, not about us.
    warnings.simplefilter("ignore")
    if what == "plain":
        result = plain(name)
    elif what == "record":
        result = record(name)
    else:
        source, _, how, *boundaries = arguments
        recorded = pickle.loads(Path(source).read_bytes())  # noqa: S301 - of `record`
        exec(cells_of(name)["p_imports"], {})  # noqa: S102 - libraries, no values
        result = {
            int(at): apart(restore, name, recorded, how, int(at)) for at in boundaries
        }
    Path(arguments[1 if what == "restore" else 0]).write_bytes(pickle.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
