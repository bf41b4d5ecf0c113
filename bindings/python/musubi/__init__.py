"""NumPy arrays in memory that many processes share.

    import musubi                      # before NumPy: see below
    with musubi.Job():
        squares = musubi.zeros(1_000_000)
        mine = musubi.part_of(squares, musubi.rank(), musubi.size())
        mine[:] = ...
        musubi.barrier()

`musubi run -n 4 python3 program.py` starts four Python processes, the ranks. Private to each: everything but
what shared_memory(), empty() and zeros() return. What a rank wrote becomes visible to another that
synchronises with it afterwards, by barrier(), a Lock or flush(). Functions raise Error when musubi.h refuses;
that header says more of each. "Collective": every rank calls it, in the same order.

Only threads that called attach_thread() may touch shared memory. The threads of NumPy's linear algebra never
do, so this module turns them off, unless OPENBLAS_NUM_THREADS, OMP_NUM_THREADS or MKL_NUM_THREADS is set;
it has to be imported before NumPy for that. System calls do not fetch shared memory: file.write(array)
needs touch(array) first, or a copy.
"""

import os as _os
import sys as _sys
import traceback as _traceback

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    _os.environ.setdefault(_name, "1")

from ._collectives import allreduce, broadcast, broadcast_values, reduce
from ._library import Error, library as _library, require as _require
from ._locks import Condition, Lock, RWLock
from ._memory import empty, free, prefetch, release_range, shared_memory, touch, zeros

__all__ = ["Condition", "Error", "Job", "Lock", "RWLock", "abort", "allreduce", "attach_thread", "barrier",
           "broadcast", "broadcast_values", "detach_thread", "empty", "finalize", "flush", "free", "init",
           "part_of", "prefetch", "rank", "reduce", "release_range", "shared_memory", "size", "touch",
           "zeros"]


def init():
    """Joins the job. Collective, once per process, blocks."""
    _require(_library.musubi_init(None, None))


def finalize(status=0):
    """Ends the job; shared memory may not be touched afterwards. Collective, blocks. The largest `status` of
    all ranks becomes that of `musubi run`."""
    _require(_library.musubi_finalize(status))


def abort(status, reason):
    """Ends all ranks at once, as a failure, with one line. Never returns."""
    _library.musubi_abort(status, reason.encode())


class Job:
    """`with musubi.Job():` is init() and finalize(). An exception that leaves it ends the whole job: the
    other ranks would wait for this one. `status` is what finalize() gets."""

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
    """Waits until every rank is here; then everybody sees what anybody wrote before. Collective."""
    _require(_library.musubi_barrier())


def flush():
    """Makes what this rank wrote visible to ranks that flush later, and what they flushed before visible."""
    _require(_library.musubi_flush())


def attach_thread():
    """Lets the calling thread use shared memory and this module, until detach_thread()."""
    _require(_library.musubi_attach_thread())


def detach_thread():
    _require(_library.musubi_detach_thread())


def part_of(array, part, parts):
    """What is left of an array, along its first axis, to `part` of `parts` when they share evenly."""
    each, more = divmod(len(array), parts)
    begin = part * each + min(part, more)
    return array[begin:begin + each + (1 if part < more else 0)]
