"""Products and a solution by NumPy: whole numbers, or few digits."""
import numpy

print("main runs", flush=True)
for size in (50, 200, 333, 600):
    a = (numpy.arange(size * size, dtype=float) * 7 % 13 - 6).reshape(size, size)
    b = a.T.copy()
    print(size, (a @ b).sum(), (a @ b)[5, 7], (b @ a)[7, 5])
x = numpy.linalg.solve(a + 600 * numpy.eye(600), b[:, 0])
print(round(float(x.sum()), 9))
