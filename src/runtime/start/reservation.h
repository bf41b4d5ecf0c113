// Address space that a job reserves in each rank for its shared space and for global memory. Reserved pages
// take no memory before their first access.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "coherence/core/block_words.h"
#include "coherence/core/entry.h"
#include "coherence/core/visit_layout.h"
#include "runtime/start/address_plan.h"

namespace musubi::runtime {

// Tables with an element per block, by purpose; blocks that this rank never opens or offers take none. A test
// compares the sizes with the mapped ones.
struct TableBytes {
  // In a file that peers map, too; and one more per 64 blocks (coherence::VisitLayout).
  static constexpr std::size_t words = sizeof(coherence::BlockWords) + 1;
  static constexpr std::size_t entry = sizeof(coherence::Entry);
  static constexpr std::size_t dirty_list = 2 * sizeof(BlockId);
  static constexpr std::size_t sleepers = 2 * sizeof(BlockId);
  static constexpr std::size_t copy_list = 2 * sizeof(BlockId);
  static constexpr std::size_t lease_queue = sizeof(LogicalTime) + sizeof(BlockId);
  static constexpr std::size_t residents = sizeof(BlockId);
  static constexpr std::size_t access = 1;  // and one more per 64 blocks
  static constexpr std::size_t run_builders = 2 * sizeof(BlockId);
  static constexpr std::size_t in_process =
      entry + dirty_list + sleepers + copy_list + lease_queue + run_builders + residents + access;
};

struct Reservation {
  std::uint64_t mapped_bytes;  // of the address space of one rank on the fullest host
  std::uint64_t table_bytes;   // the part of it in tables of the process
  std::uint64_t file_bytes;    // of the longest memory file
};

// REQUIRES: all segments are added, and together below 2^47 bytes.
Reservation reservation_of(const AddressPlan& plan);

// Error: a rank cannot map the reservation; the message tells which setting to lower.
Result<void> fits_processor(const Reservation& reservation, const Mappers& mappers);

// The limits of this process (setrlimit) against the needs of a rank.

// Error: a limit set by a shell, a batch system or a wrapper is less than a rank reserves; the message gives
// limit and remedy.
Result<void> fits_limits(const Reservation& reservation);

// Raises the soft limit on open files by the needs of a rank among `ranks`, up to the hard limit.
void add_open_files(std::uint32_t ranks);

}  // namespace musubi::runtime
