"""What all tests share: a user's data folder of their own."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True, scope="session")
def data_folder(tmp_path_factory):
    """Give the session a key and pins of its own, also in its kernels."""
    folder = tmp_path_factory.mktemp("jupyter-data")
    os.environ["JUPYTER_DATA_DIR"] = str(folder)
    for name in [name for name in os.environ if name.startswith("NBRESUME_")]:
        del os.environ[name]
    return folder
