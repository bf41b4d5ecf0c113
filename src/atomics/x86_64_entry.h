// From patched code into the runtime and back.
#pragma once

#include <cstdint>

#include "atomics/patch.h"
#include "atomics/x86_64_instruction.h"

namespace musubi::atomics::x86_64 {

// Code below the stack pointer that belongs to the interrupted function.
inline constexpr unsigned red_zone_bytes = 128;

// What the entry needs to know about a stub. It lies behind the stub's call, at the next multiple of its
// alignment. Two exits of `exit_bytes` each stand between: the first goes on with the original instruction,
// the second behind it.
struct StubRecord {
  Instruction instruction;
  std::uintptr_t next_instruction = 0;  // the address behind the site
};
inline constexpr unsigned exit_bytes = 13;

// How the entry saves vector registers: read by assembly, at fixed offsets. Written when a sink is attached,
// and by tests.
struct VectorState {
  std::uint64_t bytes;  // of the area, without alignment
  std::uint32_t mask_low;
  std::uint32_t mask_high;
  std::uint32_t compact;  // whether the processor has XSAVEC
  std::uint32_t wide;     // whether it has AVX-512, and tells which components are in use
};
extern "C" VectorState musubi_atomics_vector_state;

// What stubs call, with the stack pointer red_zone_bytes below the program's, all registers and flags as the
// program has them. Returns to one of the two exits.
extern "C" void musubi_atomics_entry();

// A site that is a breakpoint.
struct TrapSite {
  std::uintptr_t address;
  std::uintptr_t stub;
};

const SharedRanges& attached_ranges();
bool is_attached();
// Makes breakpoints known, sorted by address; the array must live for ever. False when there are too many
// tables.
bool add_traps(const TrapSite* traps, std::size_t count);
// The same for sites that were patched, whichever way, or left as they are.
bool add_sites(const Site* sites, std::size_t count);
// The site at `address`; null: none was patched there.
const Site* patched_site(std::uintptr_t address) noexcept;

}  // namespace musubi::atomics::x86_64
