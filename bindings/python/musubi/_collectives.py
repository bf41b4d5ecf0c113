"""Collective operations on small values. Every function here is collective and blocks."""

import array
import ctypes
import pickle

from ._library import ERROR_ARGUMENT, Error, library, require

# The type number in collectives.h for each type code of array.array (and NumPy's dtype.char).
_INT32, _UINT32, _INT64, _UINT64, _FLOAT, _DOUBLE = range(6)
_OPERATIONS = {name: number for number, name in enumerate(("sum", "prod", "min", "max", "and", "or", "xor"))}


def _type_of(view):
    kind, size = view.format, view.itemsize
    if kind in "bhilq" and size in (4, 8):
        return _INT32 if size == 4 else _INT64
    if kind in "BHILQ" and size in (4, 8):
        return _UINT32 if size == 4 else _UINT64
    if kind in "fd":
        return _FLOAT if kind == "f" else _DOUBLE
    raise Error(ERROR_ARGUMENT)


def address_of(view):
    """The address of the bytes of a writable, contiguous memoryview."""
    return ctypes.addressof((ctypes.c_char * view.nbytes).from_buffer(view.cast("B")))


def _values(values):
    view = memoryview(values)
    if view.readonly or not view.contiguous:
        raise TypeError("values must be a writable, contiguous buffer (a NumPy array, an array.array)")
    return view


def _operation(name):
    if name not in _OPERATIONS:
        raise ValueError(f"no operation {name!r}: {', '.join(_OPERATIONS)}")
    return _OPERATIONS[name]


def allreduce(values, operation="sum"):
    """Combines each element over all ranks, in the order of ranks; every rank gets the same bits.

    `values`: a buffer of integers of 4 or 8 bytes, float32 or float64, which is changed; or one int or
    float, whose result is returned."""
    if isinstance(values, (int, float)):
        one = array.array("q" if isinstance(values, int) else "d", [values])
        allreduce(one, operation)
        return one[0]
    view = _values(values)
    require(library.musubi_allreduce(address_of(view), view.nbytes // view.itemsize, _type_of(view),
                                     _operation(operation)))
    return values


def reduce(values, operation="sum", root=0):
    """Like allreduce, for a buffer, but only rank `root` gets the result; other ranks keep `values`."""
    view = _values(values)
    require(library.musubi_reduce(address_of(view), view.nbytes // view.itemsize, _type_of(view),
                                  _operation(operation), root))
    return values


def broadcast_values(values, root=0):
    """Copies the bytes of a buffer from rank `root` to every rank."""
    view = _values(values)
    require(library.musubi_broadcast_values(address_of(view), view.nbytes, root))
    return values


def broadcast(thing, root=0):
    """Returns at every rank the object `thing` of rank `root`, sent as a pickle."""
    pickled = pickle.dumps(thing) if library.musubi_rank() == root else b""
    length = array.array("Q", [len(pickled)])
    broadcast_values(length, root)
    data = bytearray(pickled) if pickled else bytearray(length[0])
    broadcast_values(data, root)
    return pickle.loads(data)
