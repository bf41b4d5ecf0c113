"""A program without OpenMP that loads a library with OpenMP: the argument is its path."""

import ctypes
import sys

print("main runs", flush=True)
plugin = ctypes.CDLL(sys.argv[1])
plugin.plugin_fill.argtypes = [ctypes.c_double]
plugin.plugin_sum.restype = ctypes.c_double
plugin.plugin_counted.restype = ctypes.c_long
plugin.plugin_fill(2.0)
plugin.plugin_count(1000)
print(plugin.plugin_constructed(), plugin.plugin_sum(), plugin.plugin_counted())
