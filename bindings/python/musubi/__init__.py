"""NumPy arrays in memory that many processes share.

    import musubi                      # before NumPy: see below
    with musubi.Job():
        squares = musubi.zeros(1_000_000)
        mine = musubi.part_of(squares, musubi.rank(), musubi.size())
        mine[:] = ...
        musubi.barrier()

`musubi run -n 4 python3 program.py` starts four Python processes, the ranks. Only memory of
shared_memory(), empty() and zeros() is shared; everything else is private to its rank. A rank sees a write
of another rank once it synchronised with that rank after the write, by barrier(), a Lock or flush().
Functions raise Error when musubi.h returns an error code; that header describes each function.
"Collective": every rank calls it, in the same order.

Only threads that called attach_thread() may touch shared memory. NumPy's linear algebra starts threads
that never do, so this module turns them off, unless OPENBLAS_NUM_THREADS, OMP_NUM_THREADS or
MKL_NUM_THREADS is set; this works only if it is imported before NumPy. System calls do not fetch shared
memory: file.write(array) needs touch(array) first, or a copy.
"""

import os as _os
import sys as _sys
import traceback as _traceback

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    _os.environ.setdefault(_name, "1")

from ._collectives import allreduce, broadcast, broadcast_values, reduce
from ._library import Error, library as _library, require as _require
from ._locks import Condition, Lock, RWLock
from ._memory import (empty, free, overwrite, prefetch, prefetch_all, release_range, set_home, shared_memory,
                      touch, zeros)

__all__ = ["Condition", "Error", "Job", "Lock", "RWLock", "abort", "allreduce", "attach_thread", "barrier",
           "broadcast", "broadcast_values", "detach_thread", "empty", "finalize", "flush", "free", "init",
           "overwrite", "part_of", "prefetch", "prefetch_all", "rank", "reduce", "release_range", "set_home",
           "shared_memory", "size", "touch", "zeros"]


def init():
    """Joins the job. Collective, once per process, blocks."""
    _require(_library.musubi_init(None, None))


def finalize(status=0):
    """Ends the job; shared memory may not be touched afterwards. Collective, blocks. `musubi run` exits with
    the largest `status` of all ranks."""
    _require(_library.musubi_finalize(status))


def abort(status, reason):
    """Ends all ranks at once as a failure, with one line of output. Never returns."""
    _library.musubi_abort(status, reason.encode())


class Job:
    """`with musubi.Job():` calls init() and finalize(). An exception that leaves the block ends the whole
    job, since the other ranks would wait for this rank for ever. finalize() gets `status`."""

    def __init__(self):
        self.status = 0

    def __enter__(self):
        init()
        return self

    def __exit__(self, kind, error, trace):
        if kind is None:
            finalize(self.status)
            return False
        _traceback.print_exception(kind, error, trace)
        _sys.stdout.flush()
        _sys.stderr.flush()
        return abort(1, f"{kind.__name__} left the scope of the job")


def rank():
    """This process's number, from 0; -1 outside of a job."""
    return _library.musubi_rank()


def size():
    """The number of ranks; 0 outside of a job."""
    return _library.musubi_size()


def barrier():
    """Waits for every rank; afterwards each rank sees all writes made before the barrier. Collective."""
    _require(_library.musubi_barrier())


def flush():
    """Publishes this rank's writes to ranks that flush later, and makes visible the writes of ranks that
    flushed before."""
    _require(_library.musubi_flush())


def attach_thread():
    """Lets the calling thread use shared memory and this module until detach_thread()."""
    _require(_library.musubi_attach_thread())


def detach_thread():
    _require(_library.musubi_detach_thread())


def part_of(array, part, parts):
    """Part number `part` of an array, split evenly along its first axis into `parts` parts."""
    each, more = divmod(len(array), parts)
    begin = part * each + min(part, more)
    return array[begin:begin + each + (1 if part < more else 0)]
