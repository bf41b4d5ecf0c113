// Runs: what is read or written in sequence moves in larger units than the block. The blocks behind one that
// was missed are opened with it, in one change of protection, and are fetched in one batch, when
// - a stream leads there (stream_detector.h), or
// - they were used the last time: read again after an invalidation, or changed while they were writable.
// A block that came along in vain is left to fault by itself. So blocks can be small, for the sake of data
// that several ranks write, and streams still move in large units.
//
// All this is best effort. What cannot be had at once - a gate that is taken, a home that moves - is left to
// its own fault.
#include <algorithm>
#include <array>

#include "coherence/migrating/run.h"
#include "fabric/transfer.h"

namespace musubi::coherence::migrating {

using fabric::Step;
using remote_lock::Ownership;
using remote_lock::OwnerWord;

// Takes the gates of the blocks that come along with `leader`.
void Engine::gather(const Block& leader, vm::Access wanted, Run& run) {
  // A plain flag that came along would be read ahead of its data: then only blocks whose bytes are here do.
  const bool valid_only = keeps_order();
  if (valid_only && !rules::is_valid(leader.entry)) return;
  const vm::Segment& segment = space_.segment_of(leader.id);
  const std::size_t most = std::min(Run::blocks_max, parameters_.run_bytes_max / segment.block_bytes);
  if (most < 2) return;
  StreamDetector& streams = wanted == vm::Access::write ? write_streams_ : read_streams_;
  const std::uint32_t ahead = streams.missed(leader.id);
  const std::uint64_t end = segment.first_block.value + segment.blocks;
  run.first = BlockId{leader.id.value + 1};
  while (run.count + 1 < most && run.first.value + run.count < end) {
    const BlockId id{run.first.value + run.count};
    if (!vm::is_in_use(segment, id.value - segment.first_block.value)) break;
    std::optional<Gate::Pass> pass = gate(id).try_enter();
    if (!pass) break;
    const Block b = block(id);
    if (!comes_along(b, wanted, run.count < ahead) || (valid_only && !rules::is_valid(b.entry))) break;
    if (wanted == vm::Access::read && b.entry.was_invalidated) ++b.entry.fetches_ahead;
    Run::Member& member = run.members[run.count++];
    member.pass.emplace(std::move(*pass));
    member.was_valid = rules::is_valid(b.entry);
  }
  if (run.count != 0) streams.opened(leader.id, run.id(run.count));
}

// Makes the members valid, as far as one attempt goes; the run ends where it fails.
Task<> Engine::make_valid(Run& run, vm::Access wanted) {
  std::size_t valid = 0;
  while (valid < run.count) {
    const std::size_t begin = valid;
    const Block b = block(run.id(begin));
    if (run.members[begin].was_valid) {
      ++valid;
      continue;
    }
    if (wanted == vm::Access::write && looks_untouched(b)) {
      Block first = b;
      co_await fetch_for_writing(first);
      ++valid;
    } else if (own_word(b).tag() == Ownership::unlocked) {
      Block here = b;
      const bool at_home = co_await redate_at_home(here);
      if (at_home) ++valid;
    } else {
      const Source source = source_of(b);
      std::size_t end = begin + 1;
      while (end < run.count && !run.members[end].was_valid && source_of(block(run.id(end))) == source) ++end;
      // Not by a conditional expression: gcc 12 gets that wrong and may carry out both.
      if (source.by_hint) {
        valid += co_await fetch_run_by_hint(run, begin, end, source.rank);
      } else {
        valid += co_await fetch_run_from_home(run, begin, end, source.rank);
      }
    }
    for (std::size_t i = begin; i < valid; ++i) {
      Entry& e = store_.entry(run.id(i));
      watch_lease(run.id(i), e);
      if (e.read_ts < acquired()) valid = i;
    }
    if (valid == begin) break;
  }
  run.shorten(valid);
}

Source Engine::source_of(const Block& b) {
  const Entry& e = b.entry;
  if (own_word(b).tag() != Ownership::link) return {fabric_.self(), false};
  if (names_a_copy(e)) return {e.hint_writer, true};
  return {first_place_to_look(b), false};
}

// Result: up to which member the run is valid now, as a count from `begin`.
Task<std::size_t> Engine::fetch_run_by_hint(Run& run, std::size_t begin, std::size_t end, Rank writer) {
  const std::size_t length = end - begin;
  std::array<BlockWords, Run::blocks_max> words, words_before, words_after;
  const Block first = block(run.id(begin));
  const Block last = block(run.id(end - 1));
  const std::size_t bytes = last.extent.offset + last.extent.bytes - first.extent.offset;
  const auto get_words = [&](std::array<BlockWords, Run::blocks_max>& to) {
    return fabric::get(words_region, word_offset(first.id, 0), to.data(), length * sizeof(BlockWords));
  };
  std::array<Step, 4> steps{get_words(words_before), get_words(words),
                            fabric::get(published_region, first.extent.offset, first.own, bytes),
                            get_words(words_after)};
  for (std::size_t i = begin; i < end; ++i) store_.entry(run.id(i)).bytes_lost = true;
  co_await fabric::transfer(fabric_, writer, steps);
  std::size_t valid = 0;
  for (; valid < length; ++valid) {
    Block b = block(run.id(begin + valid));
    Entry& e = b.entry;
    if (words[valid].public_ts < e.hint_write_ts.value) break;
    if (is_given_back(words_before[valid].version, words_after[valid].version)) break;
    count_fetch(b);
    accept(b, {e.hint_write_ts, e.hint_read_ts}, b.own, giver_of(writer, words[valid]));
  }
  co_return valid;
}

// Two looks at the words, with the data and the new leases between them. Result: as above.
Task<std::size_t> Engine::fetch_run_from_home(Run& run, std::size_t begin, std::size_t end, Rank peer) {
  if (peer == fabric_.self()) co_return 0;
  RunLook look;
  const Block first = block(run.id(begin));
  const auto get_words = [&](std::size_t blocks, std::array<BlockWords, Run::blocks_max>& to) {
    return fabric::get(words_region, word_offset(first.id, 0), to.data(), blocks * sizeof(BlockWords));
  };
  look.steps[0] = get_words(end - begin, look.versions_before);
  look.steps[1] = get_words(end - begin, look.before);
  co_await fabric::transfer(fabric_, peer, std::span<const Step>(look.steps.data(), 2));
  const bool live = look.before[0].unpublished();
  const bool moves = needs_data(first, look.before[0]);
  std::size_t steps = moves ? 1 : 0;
  std::size_t bytes = 0;
  std::size_t taken = 0;
  for (; begin + taken < end; ++taken) {
    const Block b = block(run.id(begin + taken));
    const BlockWords& words = look.before[taken];
    if (!is_home(b, peer, words.owner) || words.unpublished() != live || needs_data(b, words) != moves) break;
    bytes += b.extent.bytes;
    if (moves) b.entry.bytes_lost = true;
    look.granted[taken] = words.read_ts;
    const LogicalTime write_ts{words.write_ts};
    if (rules::is_leased_until({write_ts, LogicalTime{words.read_ts}}, acquired())) continue;
    look.wanted[taken] = rules::wanted_lease(b.entry, write_ts, acquired(), parameters_).value;
    look.steps[steps++] = fabric::compare_swap(words_region, word_offset(b.id, offsetof(BlockWords, read_ts)),
                                               &look.granted[taken], words.read_ts, look.wanted[taken]);
  }
  if (taken == 0) co_return 0;
  if (moves) {
    look.steps[0] =
        fabric::get(live ? private_region : published_region, first.extent.offset, first.own, bytes);
  }
  look.steps[steps++] = get_words(taken, look.owners_after);
  look.steps[steps++] = get_words(taken, look.versions_after);
  co_await fabric::transfer(fabric_, peer, std::span<const Step>(look.steps.data(), steps));
  std::size_t valid = 0;
  while (valid < taken && accept_from_home(block(run.id(begin + valid)), peer, look, valid, moves)) ++valid;
  co_return valid;
}

bool Engine::accept_from_home(Block b, Rank peer, const RunLook& look, std::size_t i, bool moved) {
  const BlockWords& before = look.before[i];
  if (!is_home(b, peer, look.owners_after[i].owner)) return false;
  if (look.versions_after[i].version != look.versions_before[i].version) return false;
  std::uint64_t read_ts = look.granted[i];
  if (look.wanted[i] != 0) {  // a lease was asked for; what it was before is in `granted`
    if (read_ts == before.read_ts) {
      read_ts = look.wanted[i];
    } else if (read_ts < look.wanted[i]) {
      return false;
    }
  }
  note_home(b, peer);
  if (moved) {
    count_fetch(b);
  } else {
    count(Counter::renewals);
  }
  accept(b, {LogicalTime{before.write_ts}, LogicalTime{read_ts}}, moved ? b.own : nullptr,
         giver_of(peer, before));
  return true;
}

// Opens `leader` and the members, in as few changes of protection as their present access allows.
void Engine::open(const Block& leader, bool leader_was_valid, vm::Access wanted, Run& run) {
  const auto list_all = [&] {
    for (std::size_t i = 0; i <= run.count; ++i) {
      const BlockId id{leader.id.value + i};
      list(id, store_.entry(id));
    }
  };
  set_open(leader, wanted);
  for (std::size_t i = 0; i < run.count; ++i) set_open(block(run.id(i)), wanted);
  count(Counter::opened_along, run.count);
  // Before the pages open: another thread of the rank may write to them at once and release.
  const bool late = injected(InjectedBug::listed_too_late);
  if (wanted == vm::Access::write && !late) list_all();
  const auto was_valid = [&](std::size_t i) {
    return i == 0 ? leader_was_valid : run.members[i - 1].was_valid;
  };
  for (std::size_t begin = 0; begin <= run.count;) {
    std::size_t end = begin + 1;
    while (end <= run.count && was_valid(end) == was_valid(begin)) ++end;
    const vm::BlockRun part{BlockId{leader.id.value + begin}, end - begin};
    if (wanted == vm::Access::read) {
      vm_.open_read(part);
    } else if (was_valid(begin)) {
      vm_.upgrade(part);
    } else {
      vm_.open_write(part);
    }
    begin = end;
  }
  if (wanted == vm::Access::write && late) list_all();
}

}  // namespace musubi::coherence::migrating
