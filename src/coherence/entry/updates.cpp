#include "coherence/entry/updates.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "base/check.h"
#include "fabric/transfer.h"

namespace musubi::coherence::entry {

using fabric::Step;
using trace::Counter;

namespace {

// To read this much more costs less than another operation.
constexpr std::uint32_t gap_max = 64;

// The bytes between two runs of one block, if they are few.
std::optional<std::uint32_t> short_gap(const Run& run, const Run& next) {
  if (next.block != run.block || next.begin - run.end() > gap_max) return std::nullopt;
  return next.begin - run.end();
}

// `bytes`: those of the runs and of short gaps between them. Keeps those of the runs.
void drop_gaps(std::span<const Run> runs, std::byte* bytes) {
  std::size_t from = 0;
  std::size_t to = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (i != 0) from += short_gap(runs[i - 1], runs[i]).value_or(0);
    if (from != to) std::memmove(bytes + to, bytes + from, runs[i].bytes);
    from += runs[i].bytes;
    to += runs[i].bytes;
  }
}

}  // namespace

Task<> Updates::get(Rank peer, std::uint64_t offset, void* into, std::size_t bytes) {
  const Step step = fabric::get(updates_region, offset, into, bytes);
  co_await fabric::transfer(ground_.fabric, peer, std::span{&step, 1});
}

// The list at the giver begins with the newest runs. All its older updates here are older than those it
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
  co_await take_runs(writer, head.offset, head.count, moves);
}

Task<> Updates::take_parcel(Rank writer, std::uint64_t parcel, Runs* moves) {
  const Parcel& head = ground_.board.parcel(parcel);
  if (head.contents == Contents::list) {
    co_await take_runs(writer, head.offset, head.count, moves);
    co_return;
  }
  const std::span runs(reinterpret_cast<const Run*>(&head + 1), head.count);
  Runs wanted = wanted_of(runs, moves);
  if (head.contents == Contents::runs) {
    co_await bring(writer, std::move(wanted), true);
    co_return;
  }
  // Changes of managers follow the updates, and have no bytes.
  const auto changes = static_cast<std::size_t>(std::ranges::count(runs, 0u, &Run::bytes));
  const auto* const bytes = reinterpret_cast<const std::byte*>(runs.data() + runs.size());
  co_await apply(runs.first(runs.size() - changes), bytes, true);
}

Task<> Updates::take_runs(Rank writer, std::uint64_t offset, std::size_t count, Runs* moves) {
  BufferPool::Buffer buffer(chunks_);
  const auto* const chunk = reinterpret_cast<const Run*>(buffer.data());
  for (std::size_t at = 0; at < count;) {
    const std::size_t some = std::min(chunk_runs, count - at);
    co_await get(writer, offset + at * sizeof(Run), buffer.data(), some * sizeof(Run));
    co_await bring(writer, wanted_of(std::span(chunk, some), moves), true);
    at += some;
  }
}

// Those of pages that are mapped here.
Runs Updates::wanted_of(std::span<const Run> runs, Runs* moves) const {
  Runs wanted;
  for (const Run& run : runs) {
    if (run.bytes == 0) {
      moves->push_back(run);
    } else if (pages_.is_mapped(run.block)) {
      wanted.push_back(run);
    }
  }
  return wanted;
}

Task<> Updates::bring(Rank peer, Runs runs, bool mapped_only) {
  std::sort(runs.begin(), runs.end(), is_before);
  for (std::span<const Run> rest = runs; !rest.empty();) {
    const std::size_t count = co_await bring_some(peer, rest, mapped_only);
    rest = rest.subspan(count);
  }
}

// As many of the first runs as there is room for their bytes, with as few gets: bytes of a short gap between
// two runs are fetched, too, and dropped. Result: how many.
Task<std::size_t> Updates::bring_some(Rank peer, std::span<const Run> runs, bool mapped_only) {
  BufferPool::Buffer buffer(ground_.store.scratch());
  const std::size_t room = ground_.space.largest_block_bytes();
  std::array<Step, steps_max> steps;
  std::size_t gets = 0;
  std::size_t used = 0;
  std::size_t count = 0;
  for (; count < runs.size(); ++count) {
    const Run& run = runs[count];
    const std::optional<std::uint32_t> gap =
        count == 0 ? std::optional<std::uint32_t>() : short_gap(runs[count - 1], run);
    const std::size_t needed = run.bytes + gap.value_or(0);
    if (used + needed > room || (!gap && gets == steps_max)) break;
    if (gap) {
      steps[gets - 1].bytes += needed;
    } else {
      const std::uint64_t place = ground_.space.extent(run.block).offset + run.begin;
      steps[gets++] = fabric::get(published_region, place, buffer.data() + used, run.bytes);
    }
    used += needed;
  }
  MUSUBI_CHECK(count != 0, "an update of %u bytes", runs[0].bytes);
  co_await fabric::transfer(ground_.fabric, peer, std::span(steps).first(gets));
  runs = runs.first(count);
  drop_gaps(runs, buffer.data());
  co_await apply(runs, buffer.data(), mapped_only);
  co_return count;
}

// Block by block. `bytes`: those of all runs, contiguous.
Task<> Updates::apply(std::span<const Run> runs, const std::byte* bytes, bool mapped_only) {
  while (!runs.empty()) {
    std::size_t count = 0;
    std::size_t bytes_here = 0;
    for (; count < runs.size() && runs[count].block == runs[0].block; ++count)
      bytes_here += runs[count].bytes;
    if (!mapped_only || pages_.is_mapped(runs[0].block)) {
      ground_.count(Counter::update_headers, count);
      ground_.count(Counter::update_bytes, bytes_here);
      co_await pages_.apply(runs.first(count), bytes, mapped_only);
    }
    bytes += bytes_here;
    runs = runs.subspan(count);
  }
}

}  // namespace musubi::coherence::entry
