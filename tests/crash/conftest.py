"""The way to the module that starts real kernels, and the stage of the crash tests."""

import shutil
import sys
import tempfile
from pathlib import Path

import pytest

TESTS = next(p for p in Path(__file__).resolve().parents if p.name == "tests")
sys.path.insert(0, str(TESTS / "kernel" / "durability"))
sys.path.insert(0, str(Path(__file__).parent))

from scene import SITUATIONS, Scene  # noqa: E402 - after its path
from shells import Zygote  # noqa: E402

MEMORY = Path("/dev/shm")  # noqa: S108 - a file system in memory
ROOM_BYTES = 1 << 30


@pytest.fixture(scope="module")
def zygote():
    """Return the process that kernels are forked from."""
    started = Zygote()
    yield started
    started.close()


@pytest.fixture
def stage(tmp_path):
    """Return a folder in memory if there is room for one.

    To see what a killed process left needs no disk; power cuts do (`test_power.py`).
    """
    if not MEMORY.exists() or shutil.disk_usage(MEMORY).free < ROOM_BYTES:
        yield tmp_path
        return
    folder = Path(tempfile.mkdtemp(dir=MEMORY, prefix="nbresume-crash-"))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def play(stage, zygote, record_property):
    """Return what opens a scene; at its end there may be no objection."""
    scenes = []

    def opened(situation, options="", row=None) -> Scene:
        folder = stage / str(len(scenes))
        folder.mkdir()
        scene = Scene(folder, zygote, options, row)
        scenes.append(scene)
        for _ in range(SITUATIONS[situation]):
            scene.cut_off()
        return scene

    yield opened
    for scene in scenes:
        scene.close()
        record_property("crash", scene.counts())
    assert [scene.verdict.objections for scene in scenes] == [[] for _ in scenes]
