"""Heat in a plate with a hot left edge: each rank computes some of the rows of a shared NumPy array.

    musubi run -n 4 python3 heat.py [rows] [steps]
"""

import sys

import musubi

import numpy  # after musubi: docs/guide/languages.md

rows = int(sys.argv[1]) if len(sys.argv) > 1 else 512
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 50

with musubi.Job() as job:
    old = musubi.zeros((rows, rows), placement="block")
    new = musubi.zeros((rows, rows), placement="block")
    if musubi.rank() == 0:
        old[:, 0] = new[:, 0] = 100
    musubi.barrier()

    inner = musubi.part_of(range(1, rows - 1), musubi.rank(), musubi.size())
    low, high = inner.start, inner.stop
    for _ in range(steps):
        new[low:high, 1:-1] = 0.25 * (old[low - 1:high - 1, 1:-1] + old[low + 1:high + 1, 1:-1] +
                                      old[low:high, :-2] + old[low:high, 2:])
        musubi.barrier()
        old, new = new, old

    total = musubi.allreduce(float(old[low:high].sum()))
    alone = numpy.zeros((rows, rows))
    alone[:, 0] = 100
    for _ in range(steps):
        after = alone.copy()
        after[1:-1, 1:-1] = 0.25 * (alone[:-2, 1:-1] + alone[2:, 1:-1] + alone[1:-1, :-2] + alone[1:-1, 2:])
        alone = after
    correct = numpy.array_equal(old, alone)
    if musubi.rank() == 0:
        print(f"heat in the plate {total:.3f}, {'as' if correct else 'NOT as'} one process computes it")
    job.status = 0 if correct else 1
    musubi.barrier()
    musubi.free(old)
    musubi.free(new)
