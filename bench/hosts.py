"""Commands between hosts: network namespaces that bench/between_hosts makes, with a rank on each."""

import shlex
import subprocess

import machine

BETWEEN_HOSTS = shlex.quote(str(machine.ROOT / "bench" / "between_hosts"))
TCP, OPEN_MPI, MPICH = "tcp", "Open MPI by tcp", "MPICH by tcp"


def by_musubi(suite, hosts, options, program, arguments):
    return (f"{BETWEEN_HOSTS} {hosts} musubi {suite.musubi} {options} "
            f"{shlex.quote(str(suite.program(program)))} {arguments}")


def by_mpi(suite, hosts, program, arguments, carrier="mpi"):
    return f"{BETWEEN_HOSTS} {hosts} {carrier} {shlex.quote(str(suite.program(program)))} {arguments}"


def without_missing_hosts(groups):
    """The groups that the available hosts allow; says why each other group is left out."""
    if not any(group.needs_hosts for group in groups):
        return groups
    tried = subprocess.run(f"{BETWEEN_HOSTS} 1 nothing", shell=True, check=False, capture_output=True,
                           text=True)
    if tried.returncode == 0:
        return groups
    print(f"rows between hosts are left out: {tried.stdout.strip()}")
    return [group for group in groups if not group.needs_hosts]
