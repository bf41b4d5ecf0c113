"""The machine, the build and the settings that a table was measured with."""

import datetime
import os
import pathlib
import platform
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
CORES = pathlib.Path("/sys/devices/system/cpu")


def first_line(*command):
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return (done.stdout.splitlines() or [""])[0]


def content(path):
    try:
        return pathlib.Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return "unknown"


def fields(path):
    """The first value of each name in a file of lines `name : value`."""
    found = {}
    for line in content(path).splitlines():
        name, _, value = line.partition(":")
        found.setdefault(name.strip(), value.strip())
    return found


def chosen(path):
    """The word in brackets of `one [two] three`."""
    text = content(path)
    return text.partition("[")[2].partition("]")[0] or text


def caches():
    named = []
    for index in sorted((CORES / "cpu0" / "cache").glob("index*")):
        kind = {"Data": "d", "Instruction": "i"}.get(content(index / "type"), "")
        named.append(f"L{content(index / 'level')}{kind} {content(index / 'size')} "
                     f"(cores {content(index / 'shared_cpu_list')})")
    return ", ".join(named) or "unknown"


def memory():
    sizes = fields("/proc/meminfo")

    def gibibytes(name):
        return f"{int(sizes.get(name, '0 kB').split()[0]) / 2**20:.1f} GiB"
    return f"{gibibytes('MemTotal')}, {gibibytes('MemAvailable')} available"


def cached_settings(build):
    """Compilers and flags, from CMake's cache."""
    wanted = {"CMAKE_CXX_COMPILER": "unknown", "CMAKE_BUILD_TYPE": "unknown", "MUSUBI_GCC": "gcc",
              "MUSUBI_PROGRAM_FLAGS": "unknown"}
    for line in content(build / "CMakeCache.txt").splitlines():
        name, _, value = line.partition("=")
        if name.partition(":")[0] in wanted:
            wanted[name.partition(":")[0]] = value
    return wanted


def settings_in_force(musubi):
    """`name=value` of all settings of the runtime."""
    try:
        done = subprocess.run([musubi, "settings"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return " ".join(f"{words[0]}={words[1]}" for words in map(str.split, done.stdout.splitlines())
                    if len(words) > 1)


def governor():
    path = CORES / "cpu0" / "cpufreq" / "scaling_governor"
    return content(path) if path.exists() else "none (no frequency scaling visible)"


def fingerprint(build, musubi, arguments):
    """Lines `name  value`; the load is that of this moment."""
    processor = fields("/proc/cpuinfo")
    built = cached_settings(build)
    changed = " with changes" if first_line("git", "status", "--porcelain", "--untracked-files=no") else ""
    environment = [f"{name}={value}" for name, value in sorted(os.environ.items())
                   if name.startswith("MUSUBI_")]
    huge = "/sys/kernel/mm/transparent_hugepage"
    lines = {
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "command": arguments,
        "commit": first_line("git", "rev-parse", "HEAD") + changed,
        "processor": f"{processor.get('model name', platform.machine())}, "
                     f"family {processor.get('cpu family')}, model {processor.get('model')}"
                     f"{', virtual' if 'hypervisor' in processor.get('flags', '').split() else ''}",
        "cores": f"{os.cpu_count()}, of which {len(os.sched_getaffinity(0))} usable",
        "caches": caches(),
        "governor": governor(),
        "memory": memory(),
        "kernel": f"{platform.system()} {platform.release()}, {' '.join(platform.libc_ver())}",
        "huge pages": f"private {chosen(huge + '/enabled')}, shared {chosen(huge + '/shmem_enabled')}",
        "limits": f"vm.max_map_count={content('/proc/sys/vm/max_map_count')} "
                  f"vm.overcommit_memory={content('/proc/sys/vm/overcommit_memory')}",
        "runtime": f"{first_line(built['CMAKE_CXX_COMPILER'], '--version')}, {built['CMAKE_BUILD_TYPE']}",
        "programs": f"{first_line(built['MUSUBI_GCC'], '--version')}, "
                    f"{built['MUSUBI_PROGRAM_FLAGS'].replace(';', ' ')}",
        "settings": settings_in_force(musubi),
        "environment": " ".join(environment) or "none of MUSUBI_*; OMP_* and GOMP_* are kept out",
        "load": " ".join(f"{load:.2f}" for load in os.getloadavg()) + " (1, 5, 15 minutes) before the start",
    }
    return [f"{name:12} {value}" for name, value in lines.items()]
