"""Shared memory as buffers, and as NumPy arrays."""

import ctypes
import operator

from ._library import Attributes, Range, library, require

PLACEMENTS = {"cyclic": 0, "block": 1, "at": 2, "first_touch": 3}
POLICIES = {"migrating": 0, "home": 1, "entry": 2, "home_only": 3}


def shared_memory(size, *, placement="cyclic", home=0, policy="migrating", block_bytes=0, alignment=0,
                  element_bytes=0):
    """`size` bytes that all ranks share, at the same address everywhere, uninitialised. Collective, blocks.
    The result has the buffer protocol: memoryview(result), numpy.frombuffer(result, dtype).

    The memory stays allocated until free(), even after the object is gone: a rank does not know whether
    other ranks still use it."""
    for name, value, known in (("placement", placement, PLACEMENTS), ("policy", policy, POLICIES)):
        if value not in known:
            raise ValueError(f"no {name} {value!r}: {', '.join(known)}")
    checked_by_pages = 0
    attributes = Attributes(alignment, block_bytes, PLACEMENTS[placement], home, POLICIES[policy],
                            checked_by_pages, element_bytes)
    memory = ctypes.c_void_p()
    require(library.musubi_alloc_with(ctypes.byref(attributes), size, ctypes.byref(memory)))
    return (ctypes.c_char * size).from_address(memory.value)


def empty(shape, dtype=float, **attributes):
    """A NumPy array in memory of shared_memory(), uninitialised. Collective, blocks."""
    import numpy

    kind = numpy.dtype(dtype)
    if kind.hasobject:
        raise TypeError("Python objects cannot lie in shared memory: choose a dtype of plain values")
    try:
        sizes = (operator.index(shape),)
    except TypeError:
        sizes = tuple(shape)
    count = 1
    for size in sizes:
        count *= size
    memory = shared_memory(max(1, count * kind.itemsize), **attributes)
    return numpy.frombuffer(memory, dtype=kind, count=count).reshape(sizes)


def zeros(shape, dtype=float, **attributes):
    """Like empty(), filled with zeros. Collective, blocks."""
    array = empty(shape, dtype, **attributes)
    if library.musubi_rank() == 0:
        array[...] = 0
    require(library.musubi_barrier())
    return array


def _place(array):
    """(address, bytes) of a contiguous buffer, which may be read-only."""
    if hasattr(array, "__array_interface__"):
        if not array.flags.contiguous:
            raise TypeError("the array must be contiguous")
        return array.__array_interface__["data"][0], array.nbytes
    return ctypes.addressof(array), ctypes.sizeof(array)


def free(array):
    """Frees memory of shared_memory(), empty() or zeros(). Collective; no rank may use it afterwards."""
    require(library.musubi_free_with(_place(array)[0]))


def set_home(array, rank):
    """`rank` becomes the home of the array, a part of one of shared_memory(), empty() or zeros(). Collective,
    blocks."""
    require(library.musubi_set_home(*_place(array), rank))


def prefetch(array, writable=False):
    """A hint: this rank will soon read the array, or also write it if `writable`. Blocks while the array is
    fetched."""
    require(library.musubi_prefetch(*_place(array), int(writable)))


def prefetch_all(arrays, writable=False):
    """As prefetch(), for many arrays at once: they come side by side."""
    ranges = (Range * len(arrays))(*(Range(*_place(array)) for array in arrays))
    require(library.musubi_prefetch_all(ranges, len(arrays), int(writable)))


def overwrite(array):
    """This rank is about to assign every element of the array, and no rank reads it before that: its bytes
    are undefined until then, and need not be fetched. Blocks."""
    library.musubi_check_overwrite(*_place(array))


def release_range(array):
    """A hint: this rank has finished writing the array, and other ranks will read it."""
    require(library.musubi_release_range(*_place(array)))


def touch(array, writable=False):
    """Makes the array ready for a system call that follows at once, such as file.write(array)."""
    require(library.musubi_touch(*_place(array), int(writable)))
