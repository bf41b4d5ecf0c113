// Redirects the atomics of finished machine code to the runtime.
//
// Every site gets a stub near the code. The stub computes the address. For private memory it runs the
// original instruction; otherwise it calls the sink, and sets registers and flags as the instruction would
// have.
//
// The site itself becomes
// - a jump, if it has five bytes;
// - a short jump to such a jump, if padding is near;
// - a jump that shares its last bytes with the next instruction, if memory can be mapped at its target;
// - otherwise a breakpoint, whose signal handler continues in the stub.
// So no signal handler calls the sink on behalf of a patched site.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <cstddef>

#include "atomics/near_memory.h"
#include "atomics/ranges.h"
#include "atomics/sink.h"
#include "atomics/site.h"
#include "base/result.h"

namespace musubi::atomics {

struct PatchReport {
  std::size_t jumps = 0;
  std::size_t trampolines = 0;        // jumps by way of padding
  std::size_t overlapping_jumps = 0;  // jumps that share bytes with the next instruction
  std::size_t traps = 0;              // breakpoints: about 2 us at each execution
  std::size_t fences = 0;             // among the four above
  std::size_t skipped = 0;            // left unpatched: no longer decodable, or data out of the stub's reach
};

// Sets the one sink and the shared space of this process. Must be called before `patch`, before the program
// has threads. A second call replaces the sink and the ranges; code that is already patched keeps the filter
// of the first call. `sink` must outlive the process's last atomic. Fails on processors without XSAVE.
Result<void> attach(AtomicSink& sink, const SharedRanges& ranges);

// For the process's handler of SIGTRAP, which the caller installs, on an alternate stack (the thread's own
// may be a protected page of the shared space). True if a breakpoint of `patch` raised the signal; `context`
// then continues in its stub. Signal-safe.
bool serve_trap(const siginfo_t& information, ucontext_t& context) noexcept;

// Patches the sites of a scan of this process's code (one object: within 2 GiB of each other). Call it once
// per object, after `attach`, while no other thread runs that code; one thread at a time. `free`: made after
// `attach`, without the ranges given there. `place`: where the stubs go, whole pages of which room_for() are
// free and within 1.9 GiB of the code; 0: any such place. Makes pages writable and executable for a moment.
// On failure nothing is patched.
Result<PatchReport> patch(const Scan& scan, FreeMemory& free, std::uintptr_t place = 0);
// Bytes of the stubs, whole pages.
std::size_t room_for(const Scan& scan);

// The report of `patch` for code that is not loaded, if it had no neighbours (`skipped` stays 0).
PatchReport forecast(const Scan& scan);

// The safety net: atomics that were not patched (shared libraries, generated code) and touched a protected
// page.

// For fault handlers. If the interrupted instruction is an indivisible read-modify-write of an address in
// `ranges`, carries it out through `sink` (in the handler's context), steps over it and returns true: the
// handler must then return. False: nothing was changed. As signal-safe as the sink. Takes about 2 ns for any
// other instruction.
bool emulate_at_fault(ucontext_t* context, const SharedRanges& ranges, AtomicSink& sink) noexcept;

}  // namespace musubi::atomics
