#include "coherence/entry/updates.h"

#include <algorithm>
#include <array>
#include <utility>

#include "fabric/transfer.h"

namespace musubi::coherence::entry {

using fabric::Step;
using trace::Counter;

Task<> Updates::get(Rank peer, std::uint64_t offset, void* into, std::size_t bytes) {
  const Step step = fabric::get(updates_region, offset, into, bytes);
  co_await fabric::transfer(ground_.fabric, peer, std::span{&step, 1});
}

// The list at the giver begins with the newest runs. All that this rank had of it is older than what it
// takes.
Task<> Updates::take_list(Rank giver, std::uint64_t offset) {
  ListHead& own = ground_.board.head(offset);
  ListHead theirs{};
  co_await get(giver, offset, &theirs, sizeof theirs);
  if (theirs.epoch != own.epoch) co_return;  // it had the lock before the last barrier, or never
  if (!ground_.injected(InjectedBug::entry_clock_not_raised)) {
    ground_.clock = std::max(ground_.clock, theirs.clock);
  }
  Runs taken;
  BufferPool::Buffer buffer(chunks_);
  const auto* const chunk = reinterpret_cast<const Run*>(buffer.data());
  bool is_newer = theirs.time > own.time;
  for (std::size_t at = 0; is_newer && at < theirs.count;) {
    const std::size_t count = std::min(chunk_runs, theirs.count - at);
    co_await get(giver, theirs.offset + at * sizeof(Run), buffer.data(), count * sizeof(Run));
    const Run* const end =
        std::partition_point(chunk, chunk + count, [&own](const Run& run) { return run.time > own.time; });
    co_await bring(giver, Runs(chunk, end), false);
    taken.insert(taken.end(), chunk, end);
    is_newer = end == chunk + count;
    at += count;
  }
  own.clock = std::max(own.clock, theirs.clock);
  own.time = std::max(own.time, theirs.time);
  if (taken.empty() || ground_.injected(InjectedBug::entry_updates_not_passed_on)) co_return;
  Runs list = ground_.board.load(own);
  put_in_front(list, taken);
  ground_.board.store(own, list);
}

Task<> Updates::take_barrier(Rank writer, std::uint64_t epoch, Runs* moves) {
  ListHead head{};
  co_await get(writer, ground_.board.head_of_barrier(epoch), &head, sizeof head);
  if (head.epoch != epoch) co_return;  // it wrote nothing
  BufferPool::Buffer buffer(chunks_);
  const auto* const chunk = reinterpret_cast<const Run*>(buffer.data());
  for (std::size_t at = 0; at < head.count;) {
    const std::size_t count = std::min(chunk_runs, head.count - at);
    co_await get(writer, head.offset + at * sizeof(Run), buffer.data(), count * sizeof(Run));
    Runs wanted;
    for (const Run& run : std::span(chunk, count)) {
      if (run.bytes == 0) {
        moves->push_back(run);
      } else if (pages_.is_mapped(run.block)) {
        wanted.push_back(run);
      }
    }
    co_await bring(writer, std::move(wanted), true);
    at += count;
  }
}

// As many runs at a time as there is room for their bytes; block by block.
Task<> Updates::bring(Rank peer, Runs runs, bool mapped_only) {
  std::sort(runs.begin(), runs.end(), is_before);
  const std::size_t room = ground_.space.largest_block_bytes();
  for (std::span<const Run> rest = runs; !rest.empty();) {
    std::size_t count = 0;
    std::size_t bytes = 0;
    while (count < std::min(rest.size(), steps_max) && bytes + rest[count].bytes <= room) {
      bytes += rest[count].bytes;
      ++count;
    }
    MUSUBI_CHECK(count != 0, "an update of %u bytes", rest[0].bytes);
    co_await bring_batch(peer, rest.first(count), mapped_only);
    ground_.count(Counter::update_headers, count);
    ground_.count(Counter::update_bytes, bytes);
    rest = rest.subspan(count);
  }
}

Task<> Updates::bring_batch(Rank peer, std::span<const Run> runs, bool mapped_only) {
  BufferPool::Buffer buffer(ground_.store.scratch());
  std::array<Step, steps_max> steps;
  std::byte* at = buffer.data();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::uint64_t place = ground_.space.extent(runs[i].block).offset + runs[i].begin;
    steps[i] = fabric::get(published_region, place, at, runs[i].bytes);
    at += runs[i].bytes;
  }
  co_await fabric::transfer(ground_.fabric, peer, std::span(steps).first(runs.size()));
  at = buffer.data();
  while (!runs.empty()) {
    std::size_t count = 0;
    std::size_t bytes = 0;
    for (; count < runs.size() && runs[count].block == runs[0].block; ++count) bytes += runs[count].bytes;
    co_await pages_.apply(runs.first(count), at, mapped_only);
    at += bytes;
    runs = runs.subspan(count);
  }
}

}  // namespace musubi::coherence::entry
