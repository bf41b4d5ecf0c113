"""Rows of the models of papers AGH, GAS and SMS between hosts: network namespaces, with a rank on each."""

import rows
from alternate import Candidate
from hosts import OPEN_MPI, TCP, by_mpi, by_musubi
from table import Row, Value

UDP = "udp;ofi_rxd of libfabric"
UDP_OPTIONS = "--set far_fabric=ofi --set 'ofi_provider=udp;ofi_rxd'"


def heap_ways(suite):
    """The four ways to move the break of a heap."""
    here, there = "musubi: sgbrk at this process", "musubi: sgbrk at the other process"
    rounds = suite.size(200, 20)

    def candidate(name, own, peer):
        options = f"--set gheap_own_way={own} --set gheap_peer_way={peer}"
        return Candidate(name, by_musubi(suite, 2, options, "gheap_costs", f"--csv --only breaks {rounds}"),
                         rows.cost_rows(here, there))
    simple, plus = "Local, Remote", "Local+, Remote+"
    return rows.Group("network_sgbrk", [
        candidate(simple, "local", "remote"), candidate(plus, "local_plus", "remote_plus")], [
        suite.cost("network_sgbrk_remote", "sgbrk at another host, Remote+", (plus, there), (simple, there),
                   "<= 0.75"),
        suite.cost("network_sgbrk_local", "sgbrk at this process, Local+", (plus, here), (simple, here),
                   "<= 0.02", (plus, there))], [suite.program("gheap_costs")], needs_hosts=True)


def pages(suite):
    rounds = suite.size(30, 4)
    known = {verb: f"gas: {verb} of 8 bytes, known" for verb in ("get", "put")}
    raw = {verb: f"fabric: {verb} of 8 bytes" for verb in ("get", "put")}
    miss = "gas: get of 8 bytes, not known"
    sizes = [4096 << shift for shift in range(0, 10, 2)]
    own = {size: (f"gas: own of {size} bytes", f"fabric: get of {size} bytes") for size in sizes}
    names = [*known.values(), *raw.values(), miss, *(name for pair in own.values() for name in pair)]

    def row(key, measure, ours, peer, bound=""):
        return suite.cost(key, measure, (TCP, ours), (TCP, peer), bound)
    command = by_musubi(suite, 2, "--plain", "gas_costs", f"--csv {rounds}")
    return rows.Group("network_gas", [Candidate(TCP, command, rows.cost_rows(*names))], [
        row("network_gas_get", "gas_get of 8 bytes at another host", known["get"], raw["get"], "<= 1.3"),
        row("network_gas_put", "gas_put of 8 bytes at another host", known["put"], raw["put"], "<= 1.3"),
        row("network_gas_miss", "the same get, of a page that is not known", miss, raw["get"]),
        *(row(f"network_gas_own_{size}", f"gas_own of a page of {size} bytes", *pair)
          for size, pair in own.items())], [suite.program("gas_costs")], needs_hosts=True)


def sms_costs(suite):
    """Over tcp, and over UDP as in the paper."""
    rounds = suite.size(200, 20)
    names = {"barrier": "barrier", "lock": "lock and unlock, by turns",
             "locks": "lock and unlock, all at once"}
    published = {"barrier": " (paper, 4 PCs by UDP: 0.92 ms)", "lock": " (paper: 1.47 ms)", "locks": ""}

    def candidate(name, options):
        return Candidate(name, by_musubi(suite, 4, options, "costs_by_sms", rounds),
                         rows.cost_rows(*(f"sms: {row}" for row in names.values())))
    candidates = [candidate(TCP, ""), candidate(UDP, UDP_OPTIONS)]
    beside = None
    if suite.has_mpi("costs_by_mpi"):
        candidates.append(Candidate(OPEN_MPI, by_mpi(suite, 4, "costs_by_mpi", rounds),
                                    rows.cost_rows("MPI: barrier")))
        beside = (OPEN_MPI, "MPI: barrier")
    return rows.Group("network_sms_costs", candidates, [
        suite.cost(f"network_sms_{key}", f"sms.h: {name}, 4 hosts{published[key]}", (TCP, f"sms: {name}"),
                   (UDP, f"sms: {name}"), "", beside if key == "barrier" else None)
        for key, name in names.items()], [suite.program("costs_by_sms")], needs_hosts=True)


def sms_program(suite, key, title, program, arguments, more_processes=0):
    """On 2 and 4 hosts, and compared with MPI, which gets `more_processes`."""
    read = rows.program_times("time")
    has_mpi = suite.has_mpi(f"{program}_by_mpi")
    candidates, made = [], []
    for hosts in (2, 4):
        ours, peer = f"sms.h, {hosts} hosts", f"Open MPI, {hosts} hosts"
        candidates.append(Candidate(ours, by_musubi(suite, hosts, "", f"{program}_by_sms", arguments), read))
        if has_mpi:
            candidates.append(Candidate(
                peer, by_mpi(suite, hosts + more_processes, f"{program}_by_mpi", arguments), read))
        made.append(Row(f"network_{key}_n{hosts}", f"{title}, {hosts} hosts by tcp", "speed", "s",
                        Value(ours, "time"), Value(peer if has_mpi else candidates[0].name, "time"),
                        suite.bound(">= 0.9" if has_mpi else "")))
    return rows.Group(f"network_{key}", candidates, made, [suite.program(f"{program}_by_sms")],
                      needs_hosts=True)


def groups(suite):
    size = suite.size
    return [
        heap_ways(suite), pages(suite), sms_costs(suite),
        sms_program(suite, "sms_nbody_100", "N-body, 100 bodies", "nbody", size("100 2000", "100 20")),
        sms_program(suite, "sms_nbody_1000", "N-body, 1,000 bodies", "nbody", size("1000 100", "200 5")),
        sms_program(suite, "sms_mandelbrot", "Mandelbrot, equal parts", "mandelbrot",
                    size("static 1024", "static 100")),
        sms_program(suite, "sms_pool", "Mandelbrot, pool of tiles", "mandelbrot",
                    size("pool 1024", "pool 100"), more_processes=1),
    ]
