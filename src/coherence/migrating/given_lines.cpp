#include "coherence/migrating/given_lines.h"

#include <atomic>
#include <optional>

#include "coherence/migrating/home_looks.h"
#include "coherence/regions.h"

namespace musubi::coherence::migrating {
namespace {

// Threads of the home may write meanwhile: no word is torn.
bool add_line(fabric::Call& call, const std::byte* from, std::size_t bytes) noexcept {
  constexpr std::size_t word = sizeof(std::uint64_t);
  for (std::size_t at = 0; at < bytes; at += word) {
    auto* const place = reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(from + at));
    if (!call.add(std::atomic_ref(*place).load(std::memory_order_relaxed))) return false;
  }
  return true;
}

// Of larger blocks a reader has room for a few lines only, and mostly more have changed.
bool has_small_lines(const vm::Extent& extent, const LinesWanted& wanted) noexcept {
  constexpr std::size_t lines_min = 8;
  return LineMask::line_bytes(extent.bytes) * lines_min <= wanted.room;
}

}  // namespace

ChangeRecord* record_of(const fabric::Call& call, const HomeSide& side, BlockId block) noexcept {
  return call.object_at<ChangeRecord>(words_region, side.layout.changes().record(block));
}

void ask_for_lines(const fabric::Call& call, const HomeSide& side, BlockId block, const LinesWanted& wanted,
                   LogicalTime newest, std::uint64_t sections) noexcept {
  if (block.value >= side.store->space().blocks()) return;
  ChangeRecord* const record = record_of(call, side, block);
  if (record != nullptr && has_small_lines(side.store->space().extent(block), wanted))
    ChangeBoard(*record, side.hooks).claim(block, newest, sections);
}

// The record is read before the bytes: they are of that version, or newer.
bool give_lines(fabric::Call& call, const HomeSide& side, BlockId block, const LinesWanted& wanted,
                LogicalTime newest, std::uint64_t sections) noexcept {
  if (newest == LogicalTime{} || block.value >= side.store->space().blocks()) return false;
  const vm::Extent extent = side.store->space().extent(block);
  ChangeRecord* const record = record_of(call, side, block);
  const std::byte* const copy = call.at(published_region, extent.offset, extent.bytes);
  if (record == nullptr || copy == nullptr || !has_small_lines(extent, wanted)) return false;
  const ChangeBoard board(*record, side.hooks);
  board.claim(block, newest, sections);
  if (wanted.base == 0) return false;
  const std::optional<LineMask> lines = board.since(block, LogicalTime{wanted.base}, newest, sections);
  const std::size_t line_bytes = LineMask::line_bytes(extent.bytes);
  if (!lines || lines->count() * line_bytes > wanted.room || !call.add(*lines)) return false;
  bool fits = true;
  lines->for_each([&](std::size_t line) {
    side.hooks.others_may_act();
    fits = fits && (line + 1) * line_bytes <= extent.bytes &&
           add_line(call, copy + line * line_bytes, line_bytes);
  });
  std::atomic_thread_fence(std::memory_order_acquire);  // what the caller looks at next is newer
  return fits;
}

}  // namespace musubi::coherence::migrating
