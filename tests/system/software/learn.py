"""KMeans and boosted trees of scikit-learn: parallel loops of Cython."""
import numpy
from sklearn.cluster import KMeans
from sklearn.ensemble import HistGradientBoostingRegressor

print("main runs", flush=True)
points = numpy.random.RandomState(1).rand(2000, 8)
clusters = KMeans(5, n_init=2, random_state=0).fit(points)
print(round(float(clusters.inertia_), 6))
values = points[:, 0] * 3 + points[:, 1] ** 2
trees = HistGradientBoostingRegressor(max_iter=10, random_state=0).fit(points, values)
print(round(float(trees.predict(points).sum()), 6))
