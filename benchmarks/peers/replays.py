"""Adapters of tools that keep what a function returned, and give it back when asked.

The rule: in a new kernel all cells are typed again, and the tool answers in place of
the body; a tool that only stores values is asked for all of them.
"""

import textwrap
from typing import ClassVar

from peers.adapters import Adapter, as_function
from peers.workloads import Cell, Workload


class Joblib(Adapter):
    """Each cell as a function in ``joblib.Memory``."""

    name = "joblib"
    packages = ("joblib",)

    def setup(self) -> Cell:
        """Return the import."""
        code = (
            f"import joblib\n_memory = joblib.Memory({str(self.folder)!r}, verbose=0)"
        )
        return Cell("setup", code)

    def cell(self, cell: Cell) -> Cell:
        """Return the cell as a decorated function and its call."""
        definition, call, bound = as_function(cell, "@_memory.cache")
        return Cell(cell.name, f"{definition}\n{bound}{call}")


class Diskcache(Adapter):
    """What a cell wrote, in ``diskcache.Cache``, which is told the names."""

    name = "diskcache"
    packages = ("diskcache",)

    def setup(self) -> Cell:
        """Return the import."""
        code = f"import diskcache\n_cache = diskcache.Cache({str(self.folder)!r})"
        return Cell("setup", code)

    def cell(self, cell: Cell) -> Cell:
        """Return the cell, and what it stores after it."""
        stores = "".join(f"\n_cache[{name!r}] = {name}" for name in cell.writes)
        return Cell(cell.name, cell.code + stores)

    def restore(self) -> list[Cell]:
        """Return the loop over all keys."""
        code = "for _key in list(_cache):\n    globals()[_key] = _cache[_key]"
        return [Cell("load", code)]


class Dbos(Adapter):
    """DBOS on SQLite: each cell is a workflow of one step, replayed by its id."""

    name = "dbos"
    packages = ("dbos",)

    def setup(self) -> Cell:
        """Return the import and the configuration."""
        code = (
            "from dbos import DBOS, SetWorkflowID\n"
            "DBOS(config={'name': 'bench', 'run_admin_server': False, "
            "'log_level': 'ERROR', 'application_version': '1', "
            f"'system_database_url': 'sqlite:///{self.folder}/dbos.sqlite'}})"
        )
        return Cell("setup", code)

    def arm(self) -> Cell:
        """Return the one workflow, and its launch."""
        code = (
            "@DBOS.step()\n"
            "def _body(name, reads):\n"
            "    return globals()[name](*[globals()[one] for one in reads])\n"
            "@DBOS.workflow()\n"
            "def _cell(name, reads):\n"
            "    return _body(name, reads)\n"
            "DBOS.launch()"
        )
        return Cell("arm", code)

    def cell(self, cell: Cell) -> Cell:
        """Return the cell as a function that the workflow calls."""
        definition, _, bound = as_function(cell)
        called = f"_cell('cell_{cell.name}', {list(cell.reads)!r})"
        code = f"{definition}\nwith SetWorkflowID({cell.name!r}):\n    {bound}{called}"
        return Cell(cell.name, code)


class Langgraph(Adapter):
    """LangGraph with its SQLite checkpointer, durability "sync".

    Each cell is one run of a graph of one node, on one thread. The state holds what
    the cell wrote and no more, or each checkpoint would hold all values so far; a
    restore reads the thread's history, oldest first.
    """

    name = "langgraph"
    packages = ("langgraph", "langgraph-checkpoint-sqlite")

    def setup(self) -> Cell:
        """Return the imports and the checkpointer."""
        code = (
            "import sqlite3, typing\n"
            "from langgraph.graph import START, END, StateGraph\n"
            "from langgraph.checkpoint.sqlite import SqliteSaver\n"
            "from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer\n"
            f"_db = sqlite3.connect({str(self.folder / 'graph.sqlite')!r}, "
            "check_same_thread=False)\n"
            "_serializer = JsonPlusSerializer(pickle_fallback=True)\n"
            "_saver = SqliteSaver(_db, serde=_serializer)\n"
            "_thread = {'configurable': {'thread_id': 'bench'}}"
        )
        return Cell("setup", code)

    def arm(self) -> Cell:
        """Return the graph."""
        code = (
            "class _State(typing.TypedDict):\n"
            "    name: str\n    reads: list\n    writes: list\n    wrote: dict\n"
            "def _node(state):\n"
            "    taken = [globals()[name] for name in state['reads']]\n"
            "    found = globals()[state['name']](*taken)\n"
            "    names = state['writes']\n"
            "    found = found if len(names) > 1 else [found]\n"
            "    return {'wrote': dict(zip(names, found))}\n"
            "_graph = StateGraph(_State).add_node('cell', _node)\n"
            "_graph = _graph.add_edge(START, 'cell').add_edge('cell', END)\n"
            "_graph = _graph.compile(checkpointer=_saver)"
        )
        return Cell("arm", code)

    def cell(self, cell: Cell) -> Cell:
        """Return the cell as a function that the node calls."""
        definition, _, _ = as_function(cell)
        state = {
            "name": f"cell_{cell.name}",
            "reads": list(cell.reads),
            "writes": list(cell.writes),
            "wrote": {},
        }
        run = f"_graph.invoke({state!r}, _thread, durability='sync')"
        return Cell(cell.name, f"{definition}\nglobals().update({run}['wrote'])")

    def restore(self) -> list[Cell]:
        """Return the walk over the thread's history."""
        code = (
            "for _past in reversed(list(_graph.get_state_history(_thread))):\n"
            "    globals().update(_past.values.get('wrote', {}))"
        )
        return [self.arm(), Cell("load", code)]


class Marimo(Adapter):
    """marimo: the cells are one app, each body in ``mo.persistent_cache``.

    An app runs as a whole, so it is one cell here, which tells the seconds of each
    body in the name ``seconds_NAME``.
    """

    name = "marimo"
    packages = ("marimo",)
    whole: ClassVar = "from bench_app import app\nglobals().update(app.run()[1])"

    @classmethod
    def refuses(cls, work: Workload) -> str:
        """Return that a name is bound or changed by two cells, or is private."""
        written = [name for cell in work.cells for name in cell.writes]
        changed = [n for cell in work.cells for n in cell.writes if n in cell.reads]
        if len(set(written)) < len(written) or changed:
            return "its rules: one cell for each name, which no other one changes"
        return ""

    def prepare(self) -> None:
        """Write the app."""
        preamble = textwrap.indent(self.work.preamble, "    ")
        parts = [
            "import marimo\napp = marimo.App()",
            f"@app.cell\ndef _():\n    import marimo as mo, time\n{preamble}",
        ]
        kept = f"save_path={str(self.folder)!r}"
        for cell in self.work.cells:
            body = textwrap.indent(cell.code, "        ")
            parts.append(
                "@app.cell\ndef _():\n    _begun = time.perf_counter()\n"
                f"    with mo.persistent_cache({cell.name!r}, {kept}):\n"
                f"{body}\n    seconds_{cell.name} = time.perf_counter() - _begun"
            )
        (self.folder / "bench_app.py").write_text("\n\n".join(parts) + "\n")

    def restore(self) -> list[Cell]:
        """Return the app again: what is cached comes from the cache."""
        return [Cell("app", self.whole)]
