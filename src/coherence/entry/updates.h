// Updates from another rank: its list of runs, and their bytes from its public copies. With one-sided gets,
// so that no thread there is needed.
#pragma once

#include <cstdint>
#include <span>

#include "base/buffer_pool.h"
#include "base/task.h"
#include "coherence/entry/ground.h"
#include "coherence/entry/pages.h"
#include "coherence/entry/runs.h"

namespace musubi::coherence::entry {

// All under the door, by as many tasks as its holder has.
class Updates {
 public:
  Updates(Ground& ground, Pages& pages) : ground_(ground), pages_(pages), chunks_(chunk_runs * sizeof(Run)) {}

  // Adds the updates of a list at `giver` that are newer than `own` to the pages here and to the list `own`,
  // whose head lies at the same `offset`. REQUIRES: no rank changes the list at the giver during the call.
  Task<> take_list(Rank giver, std::uint64_t offset);
  // Applies the updates of a barrier that `writer` has made to pages that are mapped here: those of the
  // parcel that it has put here; those of its list of the barrier `epoch`. Changes of page managers are added
  // to `moves`.
  Task<> take_parcel(Rank writer, std::uint64_t parcel, Runs* moves);
  Task<> take_barrier(Rank writer, std::uint64_t epoch, Runs* moves);

 private:
  static constexpr std::size_t chunk_runs = 256;
  static constexpr std::size_t steps_max = 64;

  Task<> take_runs(Rank writer, std::uint64_t offset, std::size_t count, Runs* moves);
  Runs wanted_of(std::span<const Run> runs, Runs* moves) const;
  Task<> get(Rank peer, std::uint64_t offset, void* into, std::size_t bytes);
  Task<> bring(Rank peer, Runs runs, bool mapped_only);
  Task<std::size_t> bring_some(Rank peer, std::span<const Run> runs, bool mapped_only);
  Task<> apply(std::span<const Run> runs, const std::byte* bytes, bool mapped_only);

  Ground& ground_;
  Pages& pages_;
  BufferPool chunks_;
};

}  // namespace musubi::coherence::entry
