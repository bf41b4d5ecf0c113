"""Boosted trees of XGBoost."""
import numpy
import xgboost

print("main runs", flush=True)
points = numpy.random.RandomState(1).rand(2000, 8)
values = points[:, 0] * 3 + points[:, 1] ** 2
trees = xgboost.train(dict(tree_method="hist", nthread=2, seed=1), xgboost.DMatrix(points, values), 10)
print(round(float(trees.predict(xgboost.DMatrix(points)).sum()), 4))
