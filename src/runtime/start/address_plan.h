// Where the shared segments lie: the same addresses on every rank.
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

// Segment::policy of a job's segments.
inline constexpr std::uint8_t policy_migrating = 0;
inline constexpr std::uint8_t policy_home_based = 1;
inline constexpr std::uint8_t policy_entry = 2;  // of segments that come later alone
// Of segments that come later.
inline constexpr std::size_t added_block_bytes_max = std::size_t{2} << 20;

// How many ranks a job has, and how many of them at most map each other's memory: those of one host. Each
// host plans for the fullest one, since addresses are the same everywhere.
struct Mappers {
  std::uint32_t ranks = 1;
  std::uint32_t together = 1;
  bool commit_strictly = false;  // some host does (os/memory.h)

  // This one.
  static Mappers on_one_host(std::uint32_t ranks);
  // Of a part that all ranks provide: three views at the rank itself, two at each peer that maps it.
  std::size_t views() const { return 2 * std::size_t{together} + 1; }
};

// Stacks of a rank may have so much each, and there is room for the threads of its team and 32 more.
std::size_t stack_bytes_max(const Mappers& mappers, std::uint32_t threads_per_rank);

struct AddressPlan {
  Mappers mappers;
  vm::Space space;
  Layout layout;
  std::size_t global_bytes;  // of global memory, at each rank
  // Addresses of the segments that come later (segments.h).
  std::uintptr_t added_base;
  std::size_t added_bytes;
  std::size_t heap_segment;
  std::size_t stacks_segment;
  // Which blocks of the segments for libraries are in use.
  std::vector<std::unique_ptr<vm::BlockSet>> parts;

  // Each range of the program gets a segment. Libraries share two segments, one for those of the start and
  // one for later ones: a process may have hundreds. Errors: more address space than the processor has,
  // libraries that lie too far apart.
  // `adds_segments`: memory will be added while the job runs, unless settings say otherwise.
  static Result<AddressPlan> make(const config::Settings& settings, const Mappers& mappers,
                                  std::span<const SharedRange> globals, bool adds_segments = false);
};

}  // namespace musubi::runtime
