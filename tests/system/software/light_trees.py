"""Boosted trees of LightGBM."""
import lightgbm
import numpy

print("main runs", flush=True)
points = numpy.random.RandomState(1).rand(2000, 8)
values = points[:, 0] * 3 + points[:, 1] ** 2
options = dict(objective="regression", verbose=-1, deterministic=True, force_row_wise=True, num_threads=2,
               seed=1)
trees = lightgbm.train(options, lightgbm.Dataset(points, values), 10)
print(round(float(trees.predict(points).sum()), 6))
