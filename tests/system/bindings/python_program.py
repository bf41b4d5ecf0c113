"""A rank of a job that tries the package `musubi`: python_program.py <case>."""

import array
import sys
import threading
import time

import musubi

import numpy


def check(holds, what):
    if not holds:
        musubi.abort(99, f"a check of the test failed: {what}")


def refused(code, call, *arguments, **named):
    try:
        call(*arguments, **named)
    except musubi.Error as error:
        check(error.code == code and str(error), f"{call.__name__} refuses with {error.code}, not {code}")
        return
    check(False, f"{call.__name__} refuses nothing")


def arrays():
    rank, ranks = musubi.rank(), musubi.size()
    numbers = musubi.zeros((301, 500), dtype="i8", placement="at", home=ranks - 1, policy="home")
    check(not numbers.any(), "zeros")
    check(musubi.empty(numpy.int64(3)).shape == (3,), "a length of NumPy's")
    musubi.barrier()
    mine = musubi.part_of(numbers, rank, ranks)
    mine += 1 + rank
    musubi.release_range(numbers)
    musubi.barrier()
    musubi.prefetch(numbers)
    lengths = [len(musubi.part_of(numbers, i, ranks)) for i in range(ranks)]
    check(sum(lengths) == 301, "parts")
    bound = musubi.zeros(10, dtype="i8", policy="entry", element_bytes=8)
    musubi.barrier()
    bound[rank] = 1 + rank
    musubi.barrier()
    check(bound.sum() == ranks * (ranks + 1) // 2, "entry consistency")
    check(numbers.sum() == 500 * sum((1 + i) * lengths[i] for i in range(ranks)), "sum")
    with open("/dev/null", "wb") as sink:
        musubi.touch(numbers)
        sink.write(numbers)
    musubi.barrier()
    musubi.free(numbers)
    refused(3, musubi.prefetch, numpy.zeros(1000))
    refused(10, musubi.empty, 10, placement="at", home=ranks)
    for call, named in ((musubi.empty, {"placement": "nowhere"}), (musubi.empty, {"policy": "none"}),
                        (musubi.allreduce, {"operation": "average"})):
        try:
            call(10, **named)
            check(False, f"{named} is refused")
        except ValueError as error:
            check(list(named.values())[0] in str(error), "the error names the value")
    try:
        musubi.empty(10, dtype=object)
        check(False, "objects are refused")
    except TypeError:
        pass
    memory = musubi.shared_memory(8192, block_bytes=4096)
    view = memoryview(memory).cast("B").cast("Q")
    view[rank] = rank + 7
    musubi.barrier()
    check([view[i] for i in range(ranks)] == [i + 7 for i in range(ranks)], "a buffer without NumPy")
    musubi.free(memory)


def locks():
    board = musubi.zeros(4, dtype=int)
    lock, all_here = musubi.Lock(3), musubi.Condition(5, musubi.Lock(3))

    def count():
        musubi.attach_thread()
        for _ in range(50):
            with lock:
                board[0] += 1
        musubi.detach_thread()

    threads = [threading.Thread(target=count) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    musubi.barrier()
    check(board[0] == 100 * musubi.size(), "the sum under the lock")
    with lock:
        refused(6, lock.acquire)
        board[1] += 1
        all_here.notify_all()
        all_here.wait_for(lambda: board[1] == musubi.size())
        check(not musubi.Condition(6 + musubi.rank(), lock).wait(timeout=1e-6), "a wait that times out")
        musubi.Condition(6 + musubi.rank(), lock).notify()
    refused(7, lock.release)
    own = musubi.Lock(10 + musubi.rank())
    for timeout in (2**64 / 1e9, float("inf")):
        condition = musubi.Condition(10 + musubi.rank(), own)

        def notify():
            musubi.attach_thread()
            time.sleep(0.05)  # a wait that ended too early would show
            with own:
                condition.notify()
            musubi.detach_thread()

        with own:
            notifier = threading.Thread(target=notify)
            notifier.start()
            check(condition.wait(timeout=timeout), "a wait for centuries")
        notifier.join()
    for number in (65536, -1, 2**32, 2**64 + 3):
        refused(5, musubi.Lock(number).acquire)
        refused(5, musubi.RWLock(number).try_read)
        refused(5, musubi.Condition(number, lock).notify)
    musubi.barrier()
    own = musubi.Lock(10 + musubi.rank())
    check(own.acquire(blocking=False), "a free lock")
    own.release()
    shared = musubi.RWLock(musubi.rank())
    with shared.write():
        refused(6, shared.try_read)
    with shared.read():
        refused(6, shared.try_write)
    check(shared.try_write(), "a free lock for writing")
    shared.release()
    musubi.flush()


def values():
    rank, ranks = musubi.rank(), musubi.size()
    check(musubi.allreduce(rank, "max") == ranks - 1, "max of integers")
    check(musubi.allreduce(0.5) == 0.5 * ranks, "sum of floats")
    many = numpy.full(1000, rank, dtype=numpy.float32)
    musubi.allreduce(many)
    check((many == ranks * (ranks - 1) / 2).all(), "sum of arrays")
    ones = array.array("i", [rank + 1])
    musubi.reduce(ones, "min", root=ranks - 1)
    check(ones[0] == (1 if rank == ranks - 1 else rank + 1), "reduce")
    refused(10, musubi.allreduce, array.array("h", [1]))
    refused(10, musubi.allreduce, 1.5, "xor")
    check(musubi.broadcast({"from": rank}, root=ranks - 1) == {"from": ranks - 1}, "broadcast")
    data = bytearray(b"12345678" if rank == 0 else 8)
    musubi.broadcast_values(data)
    check(data == b"12345678", "broadcast of bytes")
    musubi.barrier()


def exception():
    if musubi.rank() == 0:
        raise ValueError("raised on purpose")
    musubi.barrier()


check(musubi.rank() == -1 and musubi.size() == 0, "no job yet")
refused(1, musubi.barrier)
with musubi.Job() as job:
    refused(1, musubi.init)
    {"arrays": arrays, "locks": locks, "values": values, "exception": exception}[sys.argv[1]]()
    job.status = 40 + musubi.rank()
