"""The measured programs with their arguments: for rows on one host, far rows, rows between hosts and the
page of results."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Program:
    title: str  # of its rows
    name: str  # of the file
    full: str  # arguments
    quick: str
    values: tuple = ("time",)


PROGRAMS = {
    "daxpy": Program("daxpy on 4M doubles", "daxpy", "4194304 200", "100000 20"),
    "ep_a": Program("EP class A", "ep", "A", "S"),
    "heat": Program("heat on 4096 x 4096", "heat", "4096 200", "256 20"),
    "cg_a": Program("CG class A", "cg", "A", "S"),
    "cg_b": Program("CG class B", "cg", "B", "S"),
    "mg_a": Program("MG class A", "mg", "A", "S"),
    "ft_a": Program("FT class A", "ft", "A", "S"),
    "is_a": Program("IS class A", "is", "A", "S"),
    "adi_w": Program("BT-like class W", "adi", "W", "S"),
    "adi_a": Program("BT-like class A", "adi", "A", "S"),
    "adi_inner": Program("BT-like class W, inner loops", "adi", "W inner", "S inner"),
    "penta": Program("SP-like class S, inner loops", "penta", "S", "S"),
    "graph": Program("graph of scale 14", "graph", "14 2", "8 2", ("build", "search")),
    "mesh": Program("mesh of 32^3 nodes", "mesh", "32 2", "10 2", ("atomic", "locks")),
    "queens": Program("task queue, 14 queens", "queens", "14 4", "8 3"),
    "beside": Program("beside 4 GiB", "beside", "4096 2000", "16 20", ("touch", "barrier", "critical")),
    "stream": Program("stream of 1 GiB", "stream", "1024 6", "16 4", ("triad", "touch", "moved")),
    "transpose": Program("transpose of 256 x 256 x 128", "transpose", "256 256 128 5", "32 32 32 2"),
    "fib": Program("Fibonacci by tasks", "fib", "42 22", "20 8"),
    "board": Program("13 queens by tasks", "board", "13 4", "8 3"),
    "binomial": Program("binomial tree, a task per node", "unbalanced", "binomial 1 100", "binomial 500 0"),
    "geometric": Program("geometric tree, a task per node", "unbalanced", "geometric 9 100", "geometric 6 0"),
    "sparse_lu": Program("sparse LU by depend", "sparse_lu", "40 64", "8 16"),
    "cholesky": Program("Cholesky by depend", "cholesky", "32 64", "6 16"),
    "merge_sort": Program("sort of 8M numbers by tasks", "merge_sort", "8000000 2048", "50000 512"),
    "strassen": Program("Strassen of 1024 rows", "strassen", "1024 64", "128 16"),
    "wavefront": Program("wavefront by depend", "wavefront", "32768 512", "256 16"),
    "floorplan": Program("floor plan by branch and bound", "floorplan", "10 4", "5 3"),
    "health": Program("hospitals, a task per step", "health", "7 200", "4 30"),
    "mandelbrot": Program("Mandelbrot, dynamic schedule", "mandelbrot", "1600", "200"),
}

# Programs of explicit tasks.
TASKS = ("fib", "board", "binomial", "geometric", "sparse_lu", "cholesky", "merge_sort", "strassen",
         "wavefront", "floorplan", "health")
