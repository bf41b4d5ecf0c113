"""Loads libmusubi, declares the functions of musubi.h and turns error codes into exceptions."""

import ctypes
import os
import pathlib


class Attributes(ctypes.Structure):
    """musubi_attributes of musubi/memory.h."""

    _fields_ = [("alignment", ctypes.c_size_t), ("block_bytes", ctypes.c_size_t),
                ("placement", ctypes.c_int), ("home", ctypes.c_int), ("policy", ctypes.c_int),
                ("checks", ctypes.c_int), ("element_bytes", ctypes.c_size_t)]


class Range(ctypes.Structure):
    """musubi_range of musubi/checks.h."""

    _fields_ = [("memory", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]


_int, _u32, _u64, _size, _pointer = (ctypes.c_int, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_size_t,
                                     ctypes.c_void_p)

# name: (result, arguments). A result of None is void; int is an error code.
FUNCTIONS = {
    "musubi_init": (_int, [_pointer, _pointer]),
    "musubi_finalize": (_int, [_int]),
    "musubi_abort": (None, [_int, ctypes.c_char_p]),
    "musubi_error_text": (ctypes.c_char_p, [_int]),
    "musubi_rank": (_int, []),
    "musubi_size": (_int, []),
    "musubi_attach_thread": (_int, []),
    "musubi_detach_thread": (_int, []),
    "musubi_alloc": (_pointer, [_size]),
    "musubi_alloc_aligned": (_pointer, [_size, _size]),
    "musubi_alloc_at": (_pointer, [_int, _size]),
    "musubi_free": (_int, [_pointer]),
    "musubi_alloc_with": (_int, [ctypes.POINTER(Attributes), _size, ctypes.POINTER(_pointer)]),
    "musubi_set_home": (_int, [_pointer, _size, _int]),
    "musubi_free_with": (_int, [_pointer]),
    "musubi_touch": (_int, [_pointer, _size, _int]),
    "musubi_prefetch": (_int, [_pointer, _size, _int]),
    "musubi_release_range": (_int, [_pointer, _size]),
    "musubi_prefetch_all": (_int, [ctypes.POINTER(Range), _size, _int]),
    "musubi_check_read": (None, [_pointer, _size]),
    "musubi_check_write": (None, [_pointer, _size]),
    "musubi_check_overwrite": (None, [_pointer, _size]),
    "musubi_check_written": (None, [_pointer, _size]),
    "musubi_barrier": (_int, []),
    "musubi_flush": (_int, []),
    "musubi_lock": (_int, [_u32]),
    "musubi_trylock": (_int, [_u32]),
    "musubi_unlock": (_int, [_u32]),
    "musubi_rdlock": (_int, [_u32]),
    "musubi_tryrdlock": (_int, [_u32]),
    "musubi_wrlock": (_int, [_u32]),
    "musubi_trywrlock": (_int, [_u32]),
    "musubi_rwunlock": (_int, [_u32]),
    "musubi_cond_wait": (_int, [_u32, _u32]),
    "musubi_cond_timedwait": (_int, [_u32, _u32, _u64]),
    "musubi_cond_signal": (_int, [_u32]),
    "musubi_cond_broadcast": (_int, [_u32]),
    "musubi_broadcast": (_int, [ctypes.POINTER(_pointer)]),
    "musubi_broadcast_values": (_int, [_pointer, _size, _int]),
    "musubi_reduce": (_int, [_pointer, _size, _int, _int, _int]),
    "musubi_allreduce": (_int, [_pointer, _size, _int, _int]),
    "musubi_atomic_load_32": (_int, [_pointer, ctypes.POINTER(_u32)]),
    "musubi_atomic_load_64": (_int, [_pointer, ctypes.POINTER(_u64)]),
    "musubi_atomic_store_32": (_int, [_pointer, _u32]),
    "musubi_atomic_store_64": (_int, [_pointer, _u64]),
    "musubi_atomic_fetch_add_32": (_int, [_pointer, _u32, ctypes.POINTER(_u32)]),
    "musubi_atomic_fetch_add_64": (_int, [_pointer, _u64, ctypes.POINTER(_u64)]),
    "musubi_atomic_compare_swap_32": (_int, [_pointer, _u32, _u32, ctypes.POINTER(_u32)]),
    "musubi_atomic_compare_swap_64": (_int, [_pointer, _u64, _u64, ctypes.POINTER(_u64)]),
}

OK = 0
BUSY = 8
TIMEOUT = 9
ERROR_ARGUMENT = 10


class Error(RuntimeError):
    """A function of musubi.h failed. `code` is its error code; the text gives cause and remedy."""

    def __init__(self, code):
        super().__init__(library.musubi_error_text(code).decode())
        self.code = code


def require(result):
    """Raises Error unless `result` is OK."""
    if result != OK:
        raise Error(result)


def _load():
    """The library that LIBMUSUBI names, or the one in this folder, or the one that the loader finds.
    (LIBMUSUBI has no MUSUBI_ prefix, since that prefix marks settings.)"""
    beside = pathlib.Path(__file__).with_name("libmusubi.so")
    name = os.environ.get("LIBMUSUBI") or (str(beside) if beside.exists() else "libmusubi.so")
    try:
        loaded = ctypes.CDLL(name)
    except OSError as error:
        remedy = ("start the program by `musubi run --explicit`" if "static TLS" in str(error)
                  else "set LIBMUSUBI to its path")
        raise ImportError(f"libmusubi cannot be loaded ({error}): {remedy}") from error
    for function, (result, arguments) in FUNCTIONS.items():
        entry = getattr(loaded, function)
        entry.restype, entry.argtypes = result, arguments
    return loaded


library = _load()
