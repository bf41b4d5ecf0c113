// Runs: what is read or written in sequence moves in larger units than the block. The blocks behind one that
// was missed are opened with it, in one change of protection, and are fetched in one batch, when
// - a stream leads there (stream_detector.h), or
// - they were used the last time: read again after an invalidation, or changed while they were writable.
// A block that came along in vain is left to fault by itself. So blocks can be small, for the sake of data
// that several ranks write, and streams still move in large units.
//
// All this is best effort. A block that cannot be had at once - its gate is taken, its home moves - is left
// to its own fault.
#include "coherence/migrating/runs.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/check.h"
#include "base/task_group.h"
#include "coherence/migrating/visits.h"
#include "coherence/regions.h"
#include "coherence/rules/faults.h"
#include "coherence/rules/leases.h"
#include "coherence/rules/looks.h"
#include "fabric/transfer.h"

namespace musubi::coherence::migrating {

using fabric::Step;
using remote_lock::Ownership;
using remote_lock::OwnerWord;

// What two batches bring from the home of a run. Words of several blocks may be torn against each other; each
// word is whole. Where the order of two words matters, one is brought after the other.
struct Runs::Look {
  std::array<BlockWords, Run::blocks_max> versions_before;
  std::array<BlockWords, Run::blocks_max> before;
  std::array<BlockWords, Run::blocks_max> owners_after;
  std::array<BlockWords, Run::blocks_max> versions_after;
  std::array<std::uint64_t, Run::blocks_max> granted;   // read_ts that the home had
  std::array<std::uint64_t, Run::blocks_max> wanted{};  // read_ts that was asked for, 0: none
  std::uint64_t epoch_before, epoch_after, visits_before;
  std::array<Step, Run::blocks_max + mark_steps + 4> steps;

  // Releases of the home pass what sleeps: whether one has begun meanwhile.
  bool missed(std::size_t i) const { return before[i].sleeps() && epoch_after != epoch_before; }
};

bool Runs::comes_along(const Block& b, vm::Access wanted, bool in_stream) const {
  const bool worth_it = rules::is_worth_fetching_ahead(b.entry, ground_.parameters);
  return !ground_.store.has_private_parts(b) && rules::comes_along(b.entry, wanted, in_stream, worth_it);
}

void Runs::gather(const Block& leader, vm::Access wanted, Run& run) {
  MUSUBI_CHECK(run.count == 0);
  // A plain flag that came along would be read ahead of its data. Only blocks whose bytes are here come along
  // then.
  const bool valid_only = ground_.keeps_order();
  if (valid_only && !rules::is_valid(leader.entry)) return;
  const vm::Segment& segment = ground_.space.segment_of(leader.id);
  const std::size_t most = std::min(Run::blocks_max, ground_.parameters.run_bytes_max / segment.block_bytes);
  if (most < 2) return;
  StreamDetector& streams = wanted == vm::Access::write ? write_streams_ : read_streams_;
  const std::uint32_t ahead = streams.missed(leader.id);
  const std::uint64_t end = segment.first_block.value + segment.blocks;
  run.first = BlockId{leader.id.value + 1};
  while (run.count + 1 < most && run.first.value + run.count < end) {
    const BlockId id{run.first.value + run.count};
    if (!vm::is_in_use(segment, id.value - segment.first_block.value)) break;
    std::optional<Gate::Pass> pass = ground_.gate(id).try_enter();
    if (!pass) break;
    const Block b = ground_.block(id);
    if (!comes_along(b, wanted, run.count < ahead) || (valid_only && !rules::is_valid(b.entry))) break;
    if (wanted == vm::Access::read && b.entry.was_invalidated) ++b.entry.fetches_ahead;
    Run::Member& member = run.members[run.count++];
    member.pass.emplace(std::move(*pass));
    member.was_valid = rules::is_valid(b.entry);
  }
  if (run.count != 0) streams.opened(leader.id, run.id(run.count));
}

Task<> Runs::make_valid(Run& run, vm::Access wanted) {
  std::size_t valid = 0;
  while (valid < run.count) {
    const std::size_t begin = valid;
    const Block b = ground_.block(run.id(begin));
    if (run.members[begin].was_valid) {
      ++valid;
      continue;
    }
    if (wanted == vm::Access::write && fetches_.looks_untouched(b)) {
      valid = co_await touch_first(run, begin);
    } else if (ground_.is_home(b)) {
      Block here = b;
      const bool at_home = co_await leases_.redate_at_home(here);
      if (at_home) ++valid;
    } else {
      const Source source = source_of(b);
      std::size_t end = begin + 1;
      while (end < run.count && !run.members[end].was_valid &&
             source_of(ground_.block(run.id(end))) == source)
        ++end;
      // Not by a conditional expression: gcc 12 gets that wrong and may carry out both.
      if (source.by_hint) {
        valid += co_await fetch_by_hint(run, begin, end, source.rank);
      } else {
        valid += co_await fetch_from_home(run, begin, end, source.rank);
      }
    }
    for (std::size_t i = begin; i < valid; ++i) {
      Entry& e = ground_.store.entry(run.id(i));
      leases_.watch(run.id(i), e);
      if (e.read_ts < ground_.times.acquired()) valid = i;
    }
    if (valid == begin) break;
  }
  MUSUBI_CHECK(valid <= run.count);
  run.shorten(valid);
}

// Nobody has written the blocks yet. Each has a lock of its own at its initial home, mostly the same rank's,
// so their trips overlap. Result: up to which member the run is valid now.
Task<std::size_t> Runs::touch_first(Run& run, std::size_t begin) {
  TaskGroup touches(Run::blocks_max);
  std::size_t end = begin;
  for (; end < run.count && !run.members[end].was_valid; ++end) {
    const BlockId id = run.id(end);
    if (!fetches_.looks_untouched(ground_.block(id))) break;
    co_await touches.admit(touch_member(id));
  }
  co_await touches.drain();
  co_return end;
}

Task<> Runs::touch_member(BlockId id) {
  Block b = ground_.block(id);
  co_await fetches_.fetch_for_writing(b);
}

Source Runs::source_of(const Block& b) const {
  const Entry& e = b.entry;
  if (ground_.own_word(b).tag() != Ownership::link) return {ground_.self(), false};
  if (ground_.names_a_copy(e)) return {e.hint_writer, true};
  return {fetches_.first_place_to_look(b), false};
}

// Result: up to which member the run is valid now, as a count from `begin`.
Task<std::size_t> Runs::fetch_by_hint(Run& run, std::size_t begin, std::size_t end, Rank writer) {
  const std::size_t length = end - begin;
  MUSUBI_CHECK(length != 0 && end <= run.count && writer != ground_.self());
  std::array<BlockWords, Run::blocks_max> words, words_before, words_after;
  const Block first = ground_.block(run.id(begin));
  const Block last = ground_.block(run.id(end - 1));
  const std::size_t bytes = last.extent.offset + last.extent.bytes - first.extent.offset;
  const auto get_words = [&](std::array<BlockWords, Run::blocks_max>& to) {
    return fabric::get(words_region, word_offset(first.id, 0), to.data(), length * sizeof(BlockWords));
  };
  std::array<Step, 4> steps{get_words(words_before), get_words(words),
                            fabric::get(published_region, first.extent.offset, first.own, bytes),
                            get_words(words_after)};
  for (std::size_t i = begin; i < end; ++i) ground_.store.entry(run.id(i)).bytes_lost = true;
  co_await fabric::transfer(ground_.fabric, writer, steps);
  std::size_t valid = 0;
  for (; valid < length; ++valid) {
    Block b = ground_.block(run.id(begin + valid));
    Entry& e = b.entry;
    if (words[valid].public_ts < e.hint_write_ts.value) break;
    if (ground_.is_given_back(words_before[valid].version, words_after[valid].version)) break;
    ground_.count_fetch(b);
    arrivals_.accept(b, {e.hint_write_ts, e.hint_read_ts}, b.own, giver_of(writer, words[valid]));
  }
  co_return valid;
}

// Two looks at the words, with the data and the new leases between them. Result: as above.
Task<std::size_t> Runs::fetch_from_home(Run& run, std::size_t begin, std::size_t end, Rank peer) {
  if (peer == ground_.self()) co_return 0;
  Look look;
  const Block first = ground_.block(run.id(begin));
  const auto get_words = [&](std::size_t blocks, std::array<BlockWords, Run::blocks_max>& to) {
    return fabric::get(words_region, word_offset(first.id, 0), to.data(), blocks * sizeof(BlockWords));
  };
  const auto get_epoch = [&](std::uint64_t* to) {
    return fabric::get(words_region, ground_.visits.layout().epoch(), to, sizeof *to);
  };
  look.steps[0] = get_epoch(&look.epoch_before);
  look.steps[1] = get_words(end - begin, look.versions_before);
  look.steps[2] = get_words(end - begin, look.before);
  co_await fabric::transfer(ground_.fabric, peer, std::span<const Step>(look.steps.data(), 3));
  const bool live = look.before[0].unpublished();
  const bool moves = rules::needs_data(first.entry, look.before[0]);
  std::size_t steps = moves ? 1 : 0;
  std::size_t bytes = 0;
  std::size_t taken = 0;
  bool visits = false;
  for (; begin + taken < end; ++taken) {
    const Block b = ground_.block(run.id(begin + taken));
    const BlockWords& words = look.before[taken];
    if (!is_home(b, peer, words.owner) || words.unpublished() != live ||
        rules::needs_data(b.entry, words) != moves)
      break;
    bytes += b.extent.bytes;
    if (moves) b.entry.bytes_lost = true;
    visits = visits || (moves && words.sleeps());
    look.granted[taken] = words.read_ts;
    const LogicalTime write_ts{words.write_ts};
    if (rules::is_leased_until({write_ts, LogicalTime{words.read_ts}}, ground_.times.acquired())) continue;
    look.wanted[taken] =
        rules::wanted_lease(rules::asked_for(write_ts, b.entry.write_ts), write_ts, ground_.times.acquired(),
                            rules::shortest_lease(ground_.parameters))
            .value;
    look.steps[steps++] = fabric::compare_swap(words_region, word_offset(b.id, offsetof(BlockWords, read_ts)),
                                               &look.granted[taken], words.read_ts, look.wanted[taken]);
  }
  if (taken == 0) co_return 0;
  if (moves) {
    look.steps[0] =
        fabric::get(live ? private_region : published_region, first.extent.offset, first.own, bytes);
  }
  if (visits && !ground_.injected(InjectedBug::reader_without_mark)) {
    mark(ground_.visits.layout(), {first.id, taken}, &look.steps[steps], &look.visits_before);
    steps += mark_steps;
  }
  look.steps[steps++] = get_words(taken, look.owners_after);
  look.steps[steps++] = get_words(taken, look.versions_after);
  look.steps[steps++] = get_epoch(&look.epoch_after);
  MUSUBI_CHECK(steps <= look.steps.size());
  co_await fabric::transfer(ground_.fabric, peer, std::span<const Step>(look.steps.data(), steps));
  std::size_t valid = 0;
  while (valid < taken && accept_from_home(ground_.block(run.id(begin + valid)), peer, look, valid, moves))
    ++valid;
  co_return valid;
}

bool Runs::accept_from_home(Block b, Rank peer, const Look& look, std::size_t i, bool moved) {
  const BlockWords& before = look.before[i];
  if (!is_home(b, peer, look.owners_after[i].owner)) return false;
  if (look.versions_after[i].version != look.versions_before[i].version) return false;
  if (moved && look.missed(i)) return false;
  std::uint64_t read_ts = look.granted[i];
  if (look.wanted[i] != 0) {  // a lease was asked for; what it was before is in `granted`
    if (read_ts == before.read_ts) {
      read_ts = look.wanted[i];
    } else if (read_ts < look.wanted[i]) {
      return false;
    }
  }
  ground_.note_home(b, peer);
  if (moved) {
    ground_.count_fetch(b);
  } else {
    ground_.count(Counter::renewals);
  }
  arrivals_.accept(b, {LogicalTime{before.write_ts}, LogicalTime{read_ts}}, moved ? b.own : nullptr,
                   giver_of(peer, before));
  return true;
}

void Runs::set_open(const Block& b, vm::Access wanted) {
  Entry& e = b.entry;
  MUSUBI_CHECK(!e.pinned && !e.bytes_lost);
  ground_.note_resident(b);
  e.came_in = 0;
  e.state = rules::when_opened(e.state, wanted);
  if (wanted == vm::Access::read) return;
  e.idle_releases = 0;
  e.compared_in = 0;
  e.last_opening = e.gave_up_copy ? Opening::changed : Opening::in_vain;
}

void Runs::list_all(BlockId leader, const Run& run) {
  for (std::size_t i = 0; i <= run.count; ++i) {
    const BlockId id{leader.value + i};
    ground_.list(id, ground_.store.entry(id));
  }
}

void Runs::open(const Block& leader, bool leader_was_valid, vm::Access wanted, Run& run) {
  set_open(leader, wanted);
  for (std::size_t i = 0; i < run.count; ++i) set_open(ground_.block(run.id(i)), wanted);
  ground_.count(Counter::opened_along, run.count);
  // Before the pages open: another thread of the rank may write to them at once and release.
  const bool late = ground_.injected(InjectedBug::listed_too_late);
  if (wanted == vm::Access::write && !late) list_all(leader.id, run);
  const auto was_valid = [&](std::size_t i) {
    return i == 0 ? leader_was_valid : run.members[i - 1].was_valid;
  };
  for (std::size_t begin = 0; begin <= run.count;) {
    std::size_t end = begin + 1;
    while (end <= run.count && was_valid(end) == was_valid(begin)) ++end;
    const vm::BlockRun part{BlockId{leader.id.value + begin}, end - begin};
    if (wanted == vm::Access::read) {
      ground_.vm.open_read(part);
    } else if (was_valid(begin)) {
      ground_.vm.upgrade(part);
    } else {
      ground_.vm.open_write(part);
    }
    begin = end;
  }
  if (wanted == vm::Access::write && late) list_all(leader.id, run);
}

}  // namespace musubi::coherence::migrating
