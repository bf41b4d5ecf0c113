"""Small values that all ranks agree on. All of it is collective, and blocks."""

import array
import ctypes
import pickle

from ._library import ERROR_ARGUMENT, Error, library, require

# Values of a type of array.array (and NumPy's dtype.char): the number of their type in collectives.h.
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
    """Where the bytes of a writable, contiguous memoryview lie."""
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
    """Each element becomes that of rank 0 (operation) that of rank 1 ...; the same bits at every rank.

    `values`: a buffer of integers of 4 or 8 bytes, float32 or float64, which is changed; or one int or float,
    whose result is returned."""
    if isinstance(values, (int, float)):
        one = array.array("q" if isinstance(values, int) else "d", [values])
        allreduce(one, operation)
        return one[0]
    view = _values(values)
    require(library.musubi_allreduce(address_of(view), view.nbytes // view.itemsize, _type_of(view),
                                     _operation(operation)))
    return values


def reduce(values, operation="sum", root=0):
    """The same, for a buffer, with the result at `root` alone; elsewhere `values` stay as they were."""
    view = _values(values)
    require(library.musubi_reduce(address_of(view), view.nbytes // view.itemsize, _type_of(view),
                                  _operation(operation), root))
    return values


def broadcast_values(values, root=0):
    """Makes the bytes of a buffer of rank `root` those of every rank."""
    view = _values(values)
    require(library.musubi_broadcast_values(address_of(view), view.nbytes, root))
    return values


def broadcast(thing, root=0):
    """The object `thing` of rank `root`, at every rank; it travels pickled."""
    pickled = pickle.dumps(thing) if library.musubi_rank() == root else b""
    length = array.array("Q", [len(pickled)])
    broadcast_values(length, root)
    data = bytearray(pickled) if pickled else bytearray(length[0])
    broadcast_values(data, root)
    return pickle.loads(data)
