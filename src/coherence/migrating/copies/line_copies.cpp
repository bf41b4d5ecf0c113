#include "coherence/migrating/copies/line_copies.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace musubi::coherence::migrating {

// Private bytes without changes of this rank are of the version that the entry names, or of a newer one; so
// is the twin below changes.
bool LineCopies::has_base(const HeldBlock& b) const {
  const Entry& e = b.entry;
  if (e.copy.held_back) return false;
  if (e.copy.bytes_lost) return ground_.injected(InjectedBug::lines_on_lost_bytes);
  if (!ground_.may_differ_from_twin(e)) return true;
  return !e.published.given_up && ground_.public_ts(b) == e.held.write_ts;
}

LinesWanted LineCopies::wanted(const HeldBlock& b, std::size_t room) const {
  return {has_base(b) ? b.entry.held.write_ts.value : 0, room};
}

void LineCopies::lay(const HeldBlock& b, std::byte* target, const LineMask& lines,
                     std::span<const std::byte> bytes) {
  const std::size_t line_bytes = LineMask::line_bytes(b.extent.bytes);
  MUSUBI_CHECK(lines.count() * line_bytes == bytes.size(), "block %lu: %zu lines in %zu bytes",
               static_cast<unsigned long>(b.id.value), lines.count(), bytes.size());
  if (target != b.own) {
    const std::byte* const base = ground_.may_differ_from_twin(b.entry) ? b.published : b.own;
    std::memcpy(target, base, b.extent.bytes);
  }
  std::size_t at = 0, useful = 0;
  lines.for_each([&](std::size_t line) {
    MUSUBI_CHECK((line + 1) * line_bytes <= b.extent.bytes);
    std::byte* const place = target + line * line_bytes;
    for (std::size_t i = 0; i < line_bytes; ++i) useful += place[i] != bytes[at + i] ? 1u : 0u;
    std::memcpy(place, bytes.data() + at, line_bytes);
    at += line_bytes;
  });
  ground_.count(Counter::fetches);
  ground_.count(Counter::fetched_bytes, bytes.size());
  ground_.count(Counter::fetches_of_lines);
  ground_.count(Counter::fetched_line_bytes, bytes.size());
  ground_.count(Counter::useful_line_bytes, useful);
}

ChangeBoard LineCopies::board(const HeldBlock& b) const {
  std::byte* const region = reinterpret_cast<std::byte*>(ground_.store.memory().words);
  auto* const record =
      reinterpret_cast<ChangeRecord*>(region + ground_.home_side.layout.changes().record(b.id));
  return ChangeBoard(*record, ground_.home_side.hooks);
}

bool LineCopies::are_worth_noting(const HeldBlock& b, Version found) const {
  return board(b).is_worth_noting(b.id) && !b.entry.copy.held_back && ground_.public_ts(b) == found.write_ts;
}

void LineCopies::note(const HeldBlock& b, Version found, const LineMask& lines) const {
  const LogicalTime next = ground_.public_ts(b);
  if (next != LogicalTime{})
    board(b).note(b.id, found.write_ts, next, ground_.shared(b.words.version).load(), lines);
}

}  // namespace musubi::coherence::migrating
