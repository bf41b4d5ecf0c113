"""Locks and conditions of the job. Objects with one number are one lock, at any rank."""

import operator

from ._library import BUSY, TIMEOUT, library, require

_FOREVER_NS = 2**64 - 1


def _number(number):
    """A number as the library gets it, in 32 bits. What does not fit is no number of a lock either."""
    number = operator.index(number)
    return number if 0 <= number < 2**32 else 2**32 - 1


def _nanoseconds(seconds):
    return int(max(0, seconds) * 1e9) if seconds * 1e9 < _FOREVER_NS else _FOREVER_NS


class Lock:
    """Lock number `number`, below 65536. `with lock:` takes it and gives it back. Not recursive."""

    def __init__(self, number):
        self.number = _number(number)

    def acquire(self, blocking=True):
        """Takes the lock; blocks. Without `blocking`: returns False when it is not free."""
        if blocking:
            require(library.musubi_lock(self.number))
            return True
        return _taken(library.musubi_trylock(self.number))

    def release(self):
        """Gives the lock back, in the thread that took it."""
        require(library.musubi_unlock(self.number))

    def __enter__(self):
        self.acquire()
        return self

    def __exit__(self, *_):
        self.release()


class RWLock:
    """Reader-writer lock number `number`, below 4096. `with lock.read():`, `with lock.write():`."""

    class _Held:
        def __init__(self, number, take):
            self.number, self.take = number, take

        def __enter__(self):
            require(self.take(self.number))

        def __exit__(self, *_):
            require(library.musubi_rwunlock(self.number))

    def __init__(self, number):
        self.number = _number(number)

    def read(self):
        return self._Held(self.number, library.musubi_rdlock)

    def write(self):
        return self._Held(self.number, library.musubi_wrlock)

    def try_read(self):
        """Takes the lock for reading unless that would wait. Returns whether it did; then release()."""
        return _taken(library.musubi_tryrdlock(self.number))

    def try_write(self):
        return _taken(library.musubi_trywrlock(self.number))

    def release(self):
        require(library.musubi_rwunlock(self.number))


class Condition:
    """Condition number `number`, below 4096, with a Lock that the thread holds."""

    def __init__(self, number, lock):
        self.number, self.lock = _number(number), lock

    def wait(self, timeout=None):
        """Gives the lock back, sleeps until a signal or `timeout` seconds have passed, takes the lock again.
        Returns False after a timeout. Look again, in a loop, at what you wait for."""
        if timeout is None:
            require(library.musubi_cond_wait(self.number, self.lock.number))
            return True
        result = library.musubi_cond_timedwait(self.number, self.lock.number, _nanoseconds(timeout))
        if result == TIMEOUT:
            return False
        require(result)
        return True

    def wait_for(self, holds):
        """Waits until holds() is true."""
        while not holds():
            self.wait()

    def notify(self):
        require(library.musubi_cond_signal(self.number))

    def notify_all(self):
        require(library.musubi_cond_broadcast(self.number))


def _taken(result):
    if result == BUSY:
        return False
    require(result)
    return True
