"""Clusters: k-means with a seed, labels back into a frame, a nearest neighbour."""
# uses: sklearn pandas numpy

# %% plain imports
import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.neighbors import NearestNeighbors

# %% step points
points = np.vstack([np.eye(2) * k + offset for k, offset in ((1, 0), (2, 10), (3, 20))])

# %% plain clusters
k = 3

# %% step kmeans
kmeans = KMeans(n_clusters=k, n_init=2, random_state=0).fit(points)

# %% step labeled
labeled = pd.DataFrame(points, columns=["u", "v"])
labeled["label"] = kmeans.labels_

# %% step sizes
sizes = labeled.groupby("label").size().tolist()
print(sorted(sizes))

# %% step centers
centers = np.sort(kmeans.cluster_centers_.mean(axis=1)).round(4)

# %% step neighbors
neighbors = NearestNeighbors(n_neighbors=2).fit(points)
distances, indices = neighbors.kneighbors(points)

# %% step nearest
nearest = indices[:, 1].tolist()

# %% step spread
spread = float(distances[:, 1].max())
print(nearest, round(spread, 3))

# edit clusters: k = 3 -> k = 2 | reruns kmeans labeled sizes centers
# edit points: (3, 20) -> (3, 30) | reruns points kmeans labeled sizes centers neighbors
# edit centers: round(4) -> round(3) | reruns centers
# edit neighbors: n_neighbors=2 -> n_neighbors=3 | reruns neighbors nearest spread
# edit labeled: "u", "v" -> "v", "u" | reruns labeled sizes
