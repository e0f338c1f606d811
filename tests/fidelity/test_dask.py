"""Dask collections are kept as what they are: recipes, whose work is done when used."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "kernel" / "durability"))

from real_kernel import LOAD, Kernel, save

MAKE = """%%step make
import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import xarray as xr

def note():
    with open("ran.txt", "a") as file:
        print("x", file=file)
    return 1

array = da.from_array(np.arange(20.0), chunks=5) + 1
twin = array
frame = dd.from_pandas(pd.DataFrame({"a": [1, 2, 3, 4]}), npartitions=2)
frame["b"] = frame.a * 2
labelled = xr.Dataset({"v": (("t",), array)})
drawn = da.random.default_rng(7).random(8, chunks=4)
delayed = dask.delayed(note)()"""
HOLD = "%%step hold\nheld = array.persist()"
LOOK = """(
    type(array).__name__, array.chunks, twin is array,
    float(array.sum().compute()), frame.b.compute().tolist(),
    type(labelled.v.data).__name__, float(labelled.v.sum().compute()),
    float(drawn.sum().compute()), float(held.sum().compute()),
)"""


@pytest.mark.kernel
def test_collections_come_back_lazy_and_equal(tmp_path):
    """Same chunks, same values, same object; nothing is computed to keep them."""
    save(tmp_path / "main.ipynb", LOAD, MAKE, HOLD)
    with Kernel(tmp_path) as kernel:
        kernel.ok(LOAD, "c0")
        kernel.ok(MAKE, "c1")
        kernel.ok(HOLD, "c2")
        live = kernel.evaluate(LOOK)
    with Kernel(tmp_path) as kernel:
        kernel.ok(LOAD, "c0")
        said = kernel.ok(MAKE, "c1").text + kernel.ok(HOLD, "c2").text
        restored = kernel.evaluate(LOOK)
        ran = (tmp_path / "ran.txt").exists()
        value = kernel.evaluate("delayed.compute()")

    assert said.count("[restored]") == 2
    assert restored == live
    assert "".join(live.split()).startswith("('Array',((5,5,5,5),),True,210.0")
    assert (ran, value) == (False, "1")


FILES = {
    "csv": "import dask.dataframe as dd\nx = dd.read_csv('x.csv').a",
    "parquet": "import dask.dataframe as dd\nx = dd.read_parquet('x.parquet').a",
    "npy": "import dask, numpy as np\nx = dask.delayed(np.load)('x.npy')",
    "zarr": "import dask.array as da\nx = da.from_zarr('x.zarr')",
}
WRITES = """
import numpy as np, pandas as pd, zarr
pd.DataFrame({"a": [K, K]}).to_csv("x.csv", index=False)
pd.DataFrame({"a": [K, K]}).to_parquet("x.parquet")
np.save("x.npy", np.full(2, K))
zarr.save_array("x.zarr", np.full(2, K), mode="w")
"""


@pytest.mark.kernel
def test_a_recipe_over_files_is_stale_when_they_change(tmp_path):
    """Files that it was seen to read, or that are named; a zarr folder by `--reads`."""
    cells = [
        f"%%step {name}{' --reads x.zarr' if name == 'zarr' else ''}\n"
        + code.replace("x =", f"{name} =")
        for name, code in FILES.items()
    ]
    save(tmp_path / "main.ipynb", LOAD, *cells)

    def run(value):
        with Kernel(tmp_path) as kernel:
            kernel.ok(WRITES.replace("K", value))
            said = "".join(
                kernel.ok(code, f"c{number}").text
                for number, code in enumerate((LOAD, *cells))
            )
            sums = [kernel.evaluate(f"int(sum({name}.compute()))") for name in FILES]
        return said, sums

    assert run("1")[1] == ["2"] * 4
    said, sums = run("3")

    assert sums == ["6"] * 4
    for name in FILES:
        assert f"step {name} runs again: x." in said
