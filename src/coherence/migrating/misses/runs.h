// Runs: the blocks that are opened together with one that was missed (runs.cpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/check.h"
#include "base/task.h"
#include "coherence/migrating/misses/fetches.h"
#include "coherence/migrating/misses/stream_detector.h"
#include "coherence/ordering.h"
#include "vm/vm.h"

namespace musubi::coherence::migrating {

// Consecutive blocks after the missed one, each held: no other task works on them.
struct Run {
  static constexpr std::size_t blocks_max = 32;  // the state of each block is kept in frames of tasks

  struct Member {
    std::optional<HeldBlock> block;
    bool was_valid = false;
  };

  BlockId first{};
  std::size_t count = 0;
  std::array<Member, blocks_max> members;

  BlockId id(std::size_t member) const { return BlockId{first.value + member}; }
  HeldBlock& block(std::size_t member) {
    MUSUBI_CHECK(member < count);
    return *members[member].block;
  }
  void shorten(std::size_t length) {
    while (count > length) members[--count].block.reset();
  }
};

// `leader`: the block that was missed.
class Runs {
 public:
  Runs(Ground& ground, Leases& leases, LineCopies& lines, Arrivals& arrivals, Fetches& fetches)
      : ground_(ground), leases_(leases), lines_(lines), arrivals_(arrivals), fetches_(fetches) {}

  // Takes the gates of the blocks that come along with `leader`: those that the program has named after it,
  // or those that are likely to be touched next.
  void gather(const HeldBlock& leader, Touch touch, Run& run);
  // Makes the members valid, as far as one attempt goes; the run ends where it fails.
  Task<> make_valid(Run& run, vm::Access wanted);
  // Opens `leader` and the members, in as few changes of protection as their present access allows.
  void open(HeldBlock& leader, bool leader_was_valid, vm::Access wanted, Run& run);

 private:
  struct Look;
  struct Copies;
  std::size_t length_max(const HeldBlock& next, std::size_t block_bytes) const;
  bool comes_along(const HeldBlock& b, Touch touch, std::size_t place, std::uint32_t ahead) const;
  Source source_of(const HeldBlock& b) const;
  Task<std::size_t> touch_first(Run& run, std::size_t begin);
  Task<> touch_member(HeldBlock& b);
  Task<std::size_t> fetch_by_hint(Run& run, std::size_t begin, std::size_t end, Rank writer);
  Task<std::size_t> fetch_from_home(Run& run, std::size_t begin, std::size_t end, Rank peer);
  bool accept_from_home(HeldBlock& b, Rank peer, const Look& look, std::size_t i);
  void set_open(const HeldBlock& b, vm::Access wanted);
  void list_all(HeldBlock& leader, Run& run);

  Ground& ground_;
  Leases& leases_;
  LineCopies& lines_;
  Arrivals& arrivals_;
  Fetches& fetches_;
  StreamDetector read_streams_;
  StreamDetector write_streams_;
};

}  // namespace musubi::coherence::migrating
