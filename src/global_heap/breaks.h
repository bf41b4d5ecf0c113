// Reads and changes the breaks of any rank's heap, by one-sided operations alone (paper AGH, 3.4 and 4.2).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/task.h"
#include "fabric/fabric.h"
#include "global_heap/layout.h"
#include "global_heap/rules.h"
#include "hooks/hooks.h"

namespace musubi::global_heap {

// How the control structure of a heap is accessed; the names are the paper's.
enum class Way : std::uint8_t {
  remote,       // Remote: lock, get, put, unlock
  remote_plus,  // Remote+: lock and get together, put and unlock together
  local,        // Local: lock and unlock through the fabric, the breaks by the processor
  local_plus,   // Local+: all by the processor
};

// The forced ways; none: the shortest ways that the fabric's capabilities allow.
struct ForcedWays {
  std::optional<Way> own;    // local or local_plus
  std::optional<Way> peers;  // remote or remote_plus
};

// The start of each rank's heap, at the same offset of a region; this rank's at `own`.
struct HeapPlace {
  fabric::RegionId region;
  std::uint64_t offset;
  Control* own;
};

class BreakTable {
 public:
  // REQUIRES: a forced way is possible with the fabric.
  BreakTable(fabric::Fabric& fabric, const HeapPlace& place, const ForcedWays& forced, Hooks hooks = {});

  // Whether `way` to `owner` is possible with the fabric's capabilities.
  static bool is_possible(const fabric::Fabric& fabric, Rank owner, Way way);
  Way way_to(Rank owner) const { return ways_[owner.value]; }

  // For this rank's own heap, before any rank asks for it.
  void open(const Breaks& breaks);

  // Carries out `request` if the rules allow it. Any thread; not reentrant (a signal handler). Waits for
  // other holders of the lock, which is held for a few operations.
  Task<Decision> ask(Rank owner, Request request);
  // The same without waiting, if the processor can do all of it. Result: nothing, without any change, if
  // another way must be taken or the lock is held.
  std::optional<Decision> ask_at_once(Rank owner, const Request& request) noexcept;

 private:
  Task<Decision> ask_apart(Rank owner, Request request);
  Task<Decision> ask_together(Rank owner, Request request);
  Task<Decision> ask_here(Rank owner, Request request);
  Task<Decision> ask_directly(Rank owner, Request request);
  Task<> lock(Rank owner, std::span<fabric::Step> steps, std::uint64_t& seen);
  Task<> unlock(Rank owner);

  Control* direct(Rank owner) const { return controls_[owner.value]; }
  Decision change(Control& control, const Request& request) noexcept;
  std::uint64_t lock_at() const { return place_.offset + offsetof(Control, lock); }
  std::uint64_t breaks_at() const { return place_.offset + offsetof(Control, breaks); }
  std::uint64_t mark() const { return std::uint64_t{fabric_.self().value} + 1; }

  fabric::Fabric& fabric_;
  const HeapPlace place_;
  const Hooks hooks_;
  std::vector<Way> ways_;
  std::vector<Control*> controls_;  // null: out of the processor's reach
};

}  // namespace musubi::global_heap
