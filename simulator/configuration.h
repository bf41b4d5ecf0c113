// Everything that a simulated run depends on. A seed draws it all from hostile ranges; flags override single
// values.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "coherence/core/parameters.h"
#include "hooks/injected_bug.h"
#include "simulator/fabric/hostility.h"
#include "simulator/policy.h"

namespace musubi::sim {

// The use of a block during one phase; one bit each in Configuration::styles.
enum class Style : std::uint8_t {
  untouched,
  scattered,      // each cell belongs to a random thread: false sharing
  neighbours,     // each thread owns a run of cells of the block
  single_writer,  // one thread owns the block
  read_only,
  locked,    // each cell is protected by a lock
  atomic,    // cells are only touched by atomic additions
  handover,  // the whole block is passed on with release and acquire by the clock
  count
};

struct Configuration {
  std::uint64_t seed = 1;
  Policy policy = Policy::migrating;
  std::uint32_t nodes = 2;
  std::uint32_t threads = 1;    // per node
  std::uint32_t outsiders = 0;  // threads per node that come to no barrier
  std::uint32_t segments = 1;
  std::uint32_t blocks = 4;  // per segment
  std::uint32_t block_bytes = 64;
  std::uint32_t cell_bytes = 8;
  std::uint32_t locks = 2;
  std::uint32_t phases = 3;
  std::uint32_t operations = 10;  // per thread and phase
  std::uint64_t think_ns = 500;
  std::uint32_t values = 0;  // different ones that a cell takes, so that old ones come back; 0: all
  std::uint32_t styles = (1u << static_cast<unsigned>(Style::count)) - 1;
  std::uint32_t adopted_percent = 0;   // blocks whose first version is given by their initial home
  std::uint32_t pinned_percent = 0;    // blocks pinned at their initial home
  std::uint32_t counters_percent = 0;  // cells of any block that only atomic additions touch
  std::uint32_t private_percent = 0;   // blocks with a part that belongs to each rank alone
  std::uint32_t preemption = 0;        // accesses that may happen inside a change of protection
  std::uint32_t interruption = 0;      // places inside the protocol where other tasks run
  std::uint32_t wrong_habits = 0;      // uses of a block that find random habits; needs interruption
  std::uint32_t coarse_faults = 0;     // 1: the memory cannot tell reads from writes
  std::uint32_t plain_flags = 0;    // 1: the nodes are told that the program hands data over by plain flags
  std::uint32_t background = 0;     // 1: each node polls in the background
  std::uint32_t lock_uses = 0;      // in a row, until a lock stays with its node; 0: none does
  std::uint32_t late_segments = 0;  // 1: segments come and go between phases
  // Of the policy entry: locks taken inside of another lock; barriers at which a thread moves pages to
  // another manager, or the home of a block to another node; 1: updates hold whole cells.
  std::uint32_t nested_percent = 0;
  std::uint32_t moves_percent = 0;
  std::uint32_t whole_cells = 0;
  std::uint64_t unused_barriers = 0;     // after which an unused page is unmapped; 0: never
  std::uint32_t parcel_bytes = 4096;     // of `entry`: updates sent with the announcement
  std::uint32_t room_blocks = 0;         // of the smallest size, that each node has memory for; 0: for all
  std::uint32_t discards_percent = 0;    // uses of a whole block that make it zeros, and give its memory back
  std::uint32_t prefetches_percent = 0;  // operations that first name many blocks at once
  std::uint32_t overwrites_percent = 0;  // uses of whole blocks that overwrite a range of their bytes
  std::uint32_t unprotected = 0;         // 1: segments of the policy home_based are; 2: and home-only
  std::uint32_t check_every = 1;         // events between checks of one block's state
  coherence::Parameters protocol;
  InjectedBug bug = InjectedBug::none;
  fabric::sim::LatencyModel model;
  fabric::sim::Hostility hostility;

  std::uint32_t actors() const { return nodes * (threads + outsiders); }
};

// Draws a random configuration; equal seeds give equal ones.
Configuration draw(std::uint64_t seed);

// The same without the styles that the policy does not support: programs for `entry` hand data over by locks
// and barriers alone, all of their threads come to the barriers, and their stacks are elsewhere.
Configuration as_policy_allows(Configuration configuration);

// Sets the field called `name` ("nodes", "lease", "torn", ...) to a number, or "policy" to a name of
// policy.h. Result: false if no field has this name, or it has no such value.
bool set(Configuration& configuration, std::string_view name, std::string_view text);
std::vector<std::string_view> field_names();

// The flags that make this configuration again: "--seed=7 --nodes=3 ...".
std::string flags(const Configuration& configuration);

// By name, as in hooks/injected_bug.h.
std::span<const InjectedBug> all_bugs();

}  // namespace musubi::sim
