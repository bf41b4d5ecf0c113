// The path from patched code into the runtime and back.
#pragma once

#include <cstdint>

#include "atomics/patch.h"
#include "atomics/x86_64_instruction.h"

namespace musubi::atomics::x86_64 {

// The red zone: memory below the stack pointer that belongs to the interrupted function.
inline constexpr unsigned red_zone_bytes = 128;

// Describes a stub to the entry. Stored after the stub's call, at the next multiple of its alignment. Two
// exits of `exit_bytes` each are between them: the first continues with the original instruction, the second
// after it.
struct StubRecord {
  Instruction instruction;
  std::uintptr_t next_instruction = 0;  // the address after the site
};
inline constexpr unsigned exit_bytes = 13;

// How the entry saves vector registers: read by assembly, at fixed offsets. Written when a sink is attached,
// and by tests.
struct VectorState {
  std::uint64_t bytes;  // of the area, without alignment
  std::uint32_t mask_low;
  std::uint32_t mask_high;
  std::uint32_t compact;  // whether the processor has XSAVEC
  std::uint32_t wide;     // whether it has AVX-512, and can report the components in use
};
extern "C" VectorState musubi_atomics_vector_state;

// Called by stubs, with the stack pointer red_zone_bytes below the program's, and all registers and flags as
// the program has them. Returns to one of the two exits.
extern "C" void musubi_atomics_entry();

// A site that is a breakpoint.
struct TrapSite {
  std::uintptr_t address;
  std::uintptr_t stub;
};

const SharedRanges& attached_ranges();
bool is_attached();
// Registers breakpoints, sorted by address; the array must live forever. False if there are too many tables.
bool add_traps(const TrapSite* traps, std::size_t count);
// The same for sites, patched in any way or left unpatched.
bool add_sites(const Site* sites, std::size_t count);
// The registered site at `address`, or null.
const Site* patched_site(std::uintptr_t address) noexcept;

}  // namespace musubi::atomics::x86_64
