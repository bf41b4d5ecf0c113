// The blocks that are opened together with one that was missed; see run.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "coherence/migrating/engine.h"

namespace musubi::coherence::migrating {

// Consecutive blocks behind the missed one, each with its gate held: no other task works on them.
struct Engine::Run {
  static constexpr std::size_t blocks_max = 16;  // what is kept per block lies in frames of tasks

  struct Member {
    std::optional<Gate::Pass> pass;
    bool was_valid = false;
  };

  BlockId first{};
  std::size_t count = 0;
  std::array<Member, blocks_max> members;

  BlockId id(std::size_t member) const { return BlockId{first.value + member}; }
  void shorten(std::size_t length) {
    while (count > length) members[--count].pass.reset();
  }
};

// What two batches bring from the home of a run. Words of several blocks may be seen torn, each of them is
// whole: where the order of two words matters they are brought one behind the other.
struct Engine::RunLook {
  std::array<BlockWords, Run::blocks_max> versions_before;
  std::array<BlockWords, Run::blocks_max> before;
  std::array<BlockWords, Run::blocks_max> owners_after;
  std::array<BlockWords, Run::blocks_max> versions_after;
  std::array<std::uint64_t, Run::blocks_max> granted;   // read_ts that the home had
  std::array<std::uint64_t, Run::blocks_max> wanted{};  // read_ts that was asked for, 0: none
  std::array<fabric::Step, Run::blocks_max + 3> steps;
};

}  // namespace musubi::coherence::migrating
