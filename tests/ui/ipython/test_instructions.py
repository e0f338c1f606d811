"""Instructions of a tiny step, counted by valgrind: equal early and late.

Neither clock nor load has a part in them.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from statistics import median

import pytest

pytestmark = [pytest.mark.kernel, pytest.mark.long]

SCRIPT = """
import json, os, subprocess, sys
os.chdir(sys.argv[1])
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
cells = json.load(open("main.ipynb"))["cells"]

def control(*words):
    command = ["callgrind_control", *words, str(os.getpid())]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

def counted(name, act):
    control("--instr=on")
    control("--zero")
    act()
    control(f"--dump={name}")
    control("--instr=off")

def run(source, cell_id):
    assert shell.run_cell(source, cell_id=cell_id).success

run("%load_ext nbresume", "load")
for number, cell in enumerate(cells):
    act = lambda: run(cell["source"], cell["id"])
    if number in (10, 11, 12, 117, 118, 119):
        counted("nothing", lambda: None)
        counted(f"plain{number}", lambda: run(f"p = {number}", "plain"))
        counted(f"step{number}", act)
    else:
        act()
os._exit(0)
"""
DUMP = re.compile(r"(?ms)^desc: Trigger: dump ([a-z]+)(\d*)$.*?^totals: (\d+)$")
AT_MOST = 1.1
"""Of a late step, over an early one; collections of garbage come as they come."""
PLAIN = 3.5
"""Of a step, over a plain cell."""


def test_a_late_step_takes_the_instructions_of_an_early_one(shell, record_property):
    """Step 117 takes what step 10 took."""
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed: no instructions were counted")
    shell.save(*(f"%%step s{i}\nv{i} = {i}" for i in range(120)))
    command = [
        *("valgrind", "--tool=callgrind", "--instr-atstart=no"),
        f"--callgrind-out-file={shell.folder / 'callgrind'}",
        *(sys.executable, "-c", SCRIPT, shell.folder),
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=300)

    found: dict[str, dict[int, int]] = {"nothing": {}, "plain": {}, "step": {}}
    for place, path in enumerate(sorted(Path(shell.folder).glob("callgrind.*"))):
        for name, number, total in DUMP.findall(path.read_text()):
            found[name][int(number or place)] = int(total)
    nothing = median(found["nothing"].values())
    early, late = (
        median(found["step"][n] for n in numbers) - nothing
        for numbers in ((10, 11, 12), (117, 118, 119))
    )
    plain = median(found["plain"].values()) - nothing
    told = f"step {early:,.0f} to {late:,.0f}, plain cell {plain:,.0f}"
    record_property("instructions", told)
    assert len(found["step"]) == len(found["plain"]) == 6
    assert late <= AT_MOST * early, told
    assert early <= PLAIN * plain, told
