"""Arrays saved and loaded; a binary file; a log that every step appends to."""
# uses: files numpy

# %% plain imports
import numpy as np
from pathlib import Path

# %% plain log
def log(text):
    with open("log.txt", "a") as file:
        file.write(text + "\n")

# %% step make
signal = np.sin(np.arange(50) / 5).round(6)
np.save("signal.npy", signal)
log("made")

# %% step load
loaded = np.load("signal.npy")
log("loaded")

# %% step peaks
peaks = np.flatnonzero((loaded[1:-1] > loaded[:-2]) & (loaded[1:-1] > loaded[2:])) + 1
print(peaks.tolist())

# %% step raw
Path("raw.bin").write_bytes((loaded * 100).astype(np.int8).tobytes())
log("raw")

# %% step back
back = np.frombuffer(Path("raw.bin").read_bytes(), dtype=np.int8)

# %% step sign
sign = int(np.sign(back).sum())

# %% step period
period = int(np.diff(peaks).mean())
print(sign, period)

# edit make: / 5 -> / 4 | reruns make load peaks raw back sign period
# edit make: round(6) -> round(5) | reruns make load peaks raw
# edit raw: * 100 -> * 50 | reruns raw back sign
# edit load: "signal.npy") -> "./signal.npy") | reruns load
# edit sign: int(np.sign(back).sum()) -> int(np.sign(back).sum()) + 0 | reruns sign
