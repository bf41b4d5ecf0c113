// The addresses of the shared segments, which are the same on every rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "config/settings.h"
#include "runtime/api/memory.h"
#include "vm/space.h"

namespace musubi::runtime {

// For segments added later.
inline constexpr std::size_t added_block_bytes_max = std::size_t{2} << 20;

// The ranks of a job, and the maximum number of ranks on one host, which map each other's memory. Every host
// plans for the fullest host, because addresses are the same everywhere.
struct Mappers {
  std::uint32_t ranks = 1;
  std::uint32_t together = 1;
  bool commit_strictly = false;  // at least one host does (os/memory.h)

  // For a job on this host alone.
  static Mappers on_one_host(std::uint32_t ranks);
  // Views of a part that all ranks provide: three at the rank itself, two at each peer that maps it.
  std::size_t views() const { return 2 * std::size_t{together} + 1; }
};

// Maximum size of a stack, so that the threads of a rank's team and 32 more fit.
std::size_t stack_bytes_max(const Mappers& mappers, std::uint32_t threads_per_rank);

struct AddressPlan {
  Mappers mappers;
  vm::Space space;
  Layout layout;
  std::size_t global_bytes;  // of global memory, on each rank
  // Addresses of the segments added later (segments.h).
  std::uintptr_t added_base;
  std::size_t added_bytes;
  std::size_t heap_segment;
  std::size_t stacks_segment;
  // The blocks in use of the segments for libraries.
  std::vector<std::unique_ptr<vm::BlockSet>> parts;

  // Each range of the program gets a segment. Libraries share two segments, one for those loaded at the start
  // and one for later ones: a process may have hundreds. Errors: more address space than the processor has,
  // libraries too far apart. `adds_segments`: memory will be added while the job runs, unless settings say
  // otherwise.
  static Result<AddressPlan> make(const config::Settings& settings, const Mappers& mappers,
                                  std::span<const SharedRange> globals, bool adds_segments = false);
};

}  // namespace musubi::runtime
