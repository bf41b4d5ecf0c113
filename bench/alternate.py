"""Runs commands alternately, A B C A B C, so that other load on the machine affects all of them alike."""

import dataclasses
import os
import re
import resource
import shlex
import signal
import subprocess
import time

ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
QUIET_CORES, QUIET_WINDOW_S = 0.15, 0.5


@dataclasses.dataclass
class Run:
    """The values of one run, and the average number of cores that other processes used during it."""
    values: dict
    others_cores: float
    seconds: float
    counted: bool = True


@dataclasses.dataclass
class Candidate:
    """A command that is run repeatedly. `read` turns its output and its wall time in seconds into values
    by name, and "" or the reason why the run has no values."""
    name: str
    command: str
    read: object
    runs: list = dataclasses.field(default_factory=list)  # one per round
    failure: str = ""

    def samples(self, value):
        return [run.values[value] for run in self.runs if run.counted and value in run.values]


def wall_time(_output, seconds):
    return {"wall": seconds}, ""


def time_by_pattern(pattern):
    """Seconds as group 1 of a pattern."""
    def read(output, _seconds):
        found = re.search(pattern, output, re.MULTILINE)
        return ({"time": float(found.group(1))}, "") if found else ({}, f"no time in the output ({pattern})")
    return read


def split_command(command):
    """Leading NAME=value words, as in a shell, and the words of the command."""
    words = shlex.split(command)
    settings = {}
    while words and ASSIGNMENT.match(words[0]):
        name, value = words.pop(0).split("=", 1)
        settings[name] = value
    return settings, words


def busy_s():
    """Processor time that the whole machine has used, including the time that other guests of the host
    took from it."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, file.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def own_s():
    """Processor time of this process and of its children that have ended, including their descendants."""
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in spent)


def wait_until_quiet(limit_s):
    """Returns when other processes use next to nothing of the machine, or after limit_s."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        before, own_before = busy_s(), own_s()
        time.sleep(QUIET_WINDOW_S)
        if busy_s() - before - (own_s() - own_before) <= QUIET_CORES * QUIET_WINDOW_S:
            return


class Interruption:
    """Raises KeyboardInterrupt on SIGINT and SIGTERM, but never between the start of a process and the
    code that ends it: the commands are not in this process's group, so nothing else would end them."""

    def __init__(self):
        self.pending, self.deferred = False, False

    def handle(self, _signal, _frame):
        if not self.deferred:
            raise KeyboardInterrupt
        self.pending = True

    def defer(self):
        self.deferred = True

    def allow(self):
        self.deferred = False
        if self.pending:
            raise KeyboardInterrupt


INTERRUPTION = Interruption()


def clean_up_when_terminated():
    """Must be called once by a program that uses this module."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, INTERRUPTION.handle)


def run_once(command, read, timeout_s, removed=()):
    """Values by name, and "" or the reason why there are none. Variables that begin with one of `removed`
    are kept from the command, unless it sets them itself."""
    settings, words = split_command(command)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(tuple(removed))}
    start = time.monotonic()
    INTERRUPTION.defer()
    try:
        process = subprocess.Popen(words, env={**environment, **settings}, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    except OSError as error:
        INTERRUPTION.allow()
        return {}, str(error)
    try:
        INTERRUPTION.allow()
        output = process.communicate(timeout=timeout_s)[0].decode(errors="replace")
    except BaseException as reason:  # an interrupt too must end the command's processes
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if not isinstance(reason, subprocess.TimeoutExpired):
            raise
        return {}, f"no end within {timeout_s:g} s"
    seconds = time.monotonic() - start
    if process.returncode != 0:
        wrong = re.findall(r"^VERIFICATION FAILED.*", output, re.MULTILINE)
        last = wrong or output.strip().splitlines()[-1:] or ["no output"]
        return {}, f"exit status {process.returncode}: {last[0]}"
    return read(output, seconds)


def run_round(candidates, timeout_s, quiet_limit_s, removed):
    """One more run of each candidate. A candidate that fails is not run again and loses its earlier runs:
    a program that works only sometimes has no result."""
    for candidate in candidates:
        if candidate.failure:
            continue
        if quiet_limit_s:
            wait_until_quiet(quiet_limit_s)
        start, busy_before, own_before = time.monotonic(), busy_s(), own_s()
        values, candidate.failure = run_once(candidate.command, candidate.read, timeout_s, removed)
        elapsed = max(time.monotonic() - start, 1e-9)
        others = max(busy_s() - busy_before - (own_s() - own_before), 0.0)
        candidate.runs.append(Run(values, others / elapsed, elapsed))
        if candidate.failure:
            candidate.runs.clear()


def disturbance(runs):
    """The average number of cores that other processes used during these runs."""
    seconds = sum(run.seconds for run in runs)
    return sum(run.others_cores * run.seconds for run in runs) / seconds if seconds else 0.0


def count_quietest(candidates, rounds):
    """Keeps that many rounds, those in which other processes used least of the machine; the choice does
    not depend on the measured values."""
    by_round = list(zip(*(candidate.runs for candidate in candidates if not candidate.failure)))
    for runs in sorted(by_round, key=disturbance)[rounds:]:
        for run in runs:
            run.counted = False


def measure(candidates, rounds, timeout_s=600.0, quiet_limit_s=0.0, removed=(), extra_rounds=0):
    """Fills the candidates' runs. The first round warms up and is discarded. While fewer than `rounds`
    rounds were quiet, up to `extra_rounds` more run; the quietest rounds count."""
    run_round(candidates, timeout_s, quiet_limit_s, removed)
    for candidate in candidates:
        candidate.runs.clear()
    quiet = 0
    for number in range(rounds + extra_rounds):
        if number >= rounds and quiet >= rounds:
            break
        run_round(candidates, timeout_s, quiet_limit_s, removed)
        quiet += disturbance([one.runs[-1] for one in candidates if one.runs]) <= QUIET_CORES
    count_quietest(candidates, rounds)
