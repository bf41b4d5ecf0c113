#include "coherence/core/change_record.h"

#include "base/check.h"

namespace musubi::coherence {

bool ChangeBoard::enter() const noexcept {
  std::uint64_t seen = get(record_.sequence);
  if (seen % 2 != 0 || !sequence().compare_exchange_strong(seen, seen + 1)) return false;
  hooks_.others_may_act();
  return true;
}

void ChangeBoard::begin_at(LogicalTime write_ts) const noexcept {
  MUSUBI_CHECK(get(record_.sequence) % 2 != 0);
  put(record_.floor, write_ts.value);
  for (std::uint64_t& step : record_.write_ts) put(step, 0);
}

LogicalTime ChangeBoard::newest() const noexcept {
  const std::uint64_t step = get(record_.write_ts[0]);
  return LogicalTime{step != 0 ? step : get(record_.floor)};
}

void ChangeBoard::add_lines(unsigned step, LineMask& lines) const noexcept {
  MUSUBI_CHECK(step < ChangeRecord::steps);
  for (std::size_t i = 0; i < LineMask::words; ++i) lines.add_word(i, get(record_.lines[step][i]));
}

void ChangeBoard::set_lines(unsigned step, const LineMask& lines) const noexcept {
  MUSUBI_CHECK(step < ChangeRecord::steps);
  for (std::size_t i = 0; i < LineMask::words; ++i) put(record_.lines[step][i], lines.word(i));
}

// Merges the two oldest steps when there are too many; forgets them if they have many lines.
void ChangeBoard::make_room() const noexcept {
  constexpr unsigned oldest = ChangeRecord::steps - 1;
  if (get(record_.write_ts[oldest]) == 0) return;
  LineMask both;
  add_lines(oldest, both);
  add_lines(oldest - 1, both);
  if (both.count() <= ChangeRecord::few_lines) {
    set_lines(oldest - 1, both);
  } else {
    put(record_.floor, get(record_.write_ts[oldest]));
  }
}

void ChangeBoard::push(LogicalTime write_ts) const noexcept {
  MUSUBI_CHECK(get(record_.sequence) % 2 != 0);
  make_room();
  for (unsigned step = ChangeRecord::steps - 1; step != 0; --step) {
    LineMask lines;
    add_lines(step - 1, lines);
    set_lines(step, lines);
    put(record_.write_ts[step], get(record_.write_ts[step - 1]));
  }
  set_lines(0, {});
  put(record_.write_ts[0], write_ts.value);
}

void ChangeBoard::claim(BlockId block, LogicalTime write_ts, std::uint64_t sections) const noexcept {
  const std::uint64_t owner = get(record_.block);
  if (owner == block.value + 1) {
    put(record_.asked, write_ts.value);
    put(record_.unasked, 0);
    return;
  }
  if (owner != 0 && get(record_.asked) + ticks_kept >= write_ts.value) return;
  if (!enter()) return;
  put(record_.block, block.value + 1);
  put(record_.asked, write_ts.value);
  put(record_.sections, sections);
  put(record_.dense, 0);
  put(record_.unasked, 0);
  begin_at(write_ts);
  leave();
}

// A version keeps its name only while no rank holds it, so its changes belong to that version.
void ChangeBoard::note(BlockId block, LogicalTime found, LogicalTime next, std::uint64_t sections,
                       const LineMask& lines) const noexcept {
  if (!enter()) return;
  if (is_for(block)) {
    const bool goes_on = newest() == found && get(record_.sections) == sections;
    if (!goes_on) begin_at(found);
    if (next != newest()) push(next);
    put(record_.unasked, get(record_.unasked) + 1);
    put(record_.dense, lines.count() > ChangeRecord::few_lines ? get(record_.dense) + 1 : 0);
    LineMask all = lines;
    add_lines(0, all);
    const bool is_forgotten = hooks_.injected(InjectedBug::changed_lines_forgotten);
    if (get(record_.write_ts[0]) != 0 && !is_forgotten) set_lines(0, all);
    put(record_.sections, sections + 1);
  }
  leave();
}

std::optional<LineMask> ChangeBoard::since(BlockId block, LogicalTime base, LogicalTime newest,
                                           std::uint64_t sections) const noexcept {
  const std::uint64_t before = get(record_.sequence);
  if (before % 2 != 0 || !is_for(block)) return std::nullopt;
  const bool holds = (this->newest() == newest && get(record_.sections) == sections) ||
                     hooks_.injected(InjectedBug::void_record_believed);
  const bool reaches =
      get(record_.floor) <= base.value || hooks_.injected(InjectedBug::lines_since_any_version);
  if (!holds || !reaches) return std::nullopt;
  LineMask lines;
  for (unsigned step = 0; step < ChangeRecord::steps; ++step) {
    if (get(record_.write_ts[step]) <= base.value) break;
    add_lines(step, lines);
  }
  hooks_.others_may_act();
  if (get(record_.sequence) != before) return std::nullopt;
  return lines;
}

}  // namespace musubi::coherence
