"""Locks and conditions of the job. Objects with the same number are the same lock, at any rank."""

import operator

from ._library import BUSY, TIMEOUT, library, require

_FOREVER_NS = 2**64 - 1


def _number(number):
    """The number as a 32-bit integer for the library. A number that does not fit names no lock."""
    number = operator.index(number)
    return number if 0 <= number < 2**32 else 2**32 - 1


def _nanoseconds(seconds):
    return int(max(0, seconds) * 1e9) if seconds * 1e9 < _FOREVER_NS else _FOREVER_NS


class Lock:
    """Lock number `number`, below 65536. `with lock:` acquires and releases it. Not recursive."""

    def __init__(self, number):
        self.number = _number(number)

    def acquire(self, blocking=True):
        """Acquires the lock; blocks. With blocking=False: returns False when the lock is held."""
        if blocking:
            require(library.musubi_lock(self.number))
            return True
        return _taken(library.musubi_trylock(self.number))

    def release(self):
        """Releases the lock; only the thread that acquired it may do so."""
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
        """Acquires the lock for reading if no wait is needed. Returns whether it did; if so, release() must
        follow."""
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
        """Releases the lock, sleeps until a signal or for `timeout` seconds, and acquires the lock again.
        Returns False after a timeout. Call it in a loop that tests the condition."""
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
