"""An image filter: masks, fancy indexing, dtype changes, a histogram."""
# uses: numpy

# %% plain imports
import numpy as np

# %% step image
y, x = np.mgrid[0:16, 0:16]
image = ((x * 7 + y * 13) % 256).astype(np.uint8)

# %% step mask
mask = image > 128
print(int(mask.sum()))

# %% step dimmed
dimmed = image.copy()
dimmed[mask] //= 2

# %% plain kernel
weights = np.array([1, 2, 1])

# %% step smooth
def smooth(lines):
    padded = np.pad(lines.astype(int), ((0, 0), (1, 1)), mode="edge")
    width = lines.shape[1]
    return sum(w * padded[:, i : i + width] for i, w in enumerate(weights)) // weights.sum()

soft = smooth(dimmed)

# %% step histogram
histogram, edges = np.histogram(soft, bins=4, range=(0, 256))

# %% step brightest
brightest = np.unravel_index(int(soft.argmax()), soft.shape)

# %% step thumb
thumb = soft[::4, ::4]
print(thumb.tolist())

# %% step contrast
contrast = int(edges[np.flatnonzero(histogram)[-1]])

# edit mask: image > 128 -> 128 < image | reruns mask
# edit dimmed: //= 2 -> //= 3 | reruns dimmed smooth histogram brightest thumb contrast
# edit kernel: [1, 2, 1] -> [1, 4, 1] | reruns smooth histogram brightest thumb
# edit thumb: [::4, ::4] -> [::8, ::8] | reruns thumb
# edit histogram: bins=4 -> bins=8 | reruns histogram contrast
