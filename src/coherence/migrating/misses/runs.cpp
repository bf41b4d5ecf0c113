// Runs: sequential accesses move larger units than the block. The blocks after a missed one are opened with
// it, in one change of protection, and fetched in one batch, when
// - the program has named them, or
// - a stream leads there (stream_detector.h), for writes once it has gone on twice, or
// - they were used the last time: read again after an invalidation, or changed while they were writable.
// A block that came along in vain is left to fault by itself. So blocks can be small, for the sake of data
// that several ranks write, and streams still move in large units.
//
// All this is best effort. A block that cannot be had at once - its gate is taken, its home moves - is left
// to its own fault.
#include "coherence/migrating/misses/runs.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "base/check.h"
#include "base/task_group.h"
#include "coherence/regions.h"
#include "coherence/rules/faults.h"
#include "fabric/transfer.h"

namespace musubi::coherence::migrating {

using fabric::Step;
using remote_lock::Ownership;
using remote_lock::OwnerWord;

namespace {

// Places for the answers to as many calls.
template <class Result>
class Answers {
 public:
  Answers(BufferPool& pool, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      rooms_[i].emplace(pool);
      answers_[i] = LinesAnswer<Result>::in(*rooms_[i]);
    }
  }
  LinesAnswer<Result>& operator[](std::size_t i) { return *answers_[i]; }
  const LinesAnswer<Result>& operator[](std::size_t i) const { return *answers_[i]; }

 private:
  std::array<std::optional<BufferPool::Buffer>, Run::blocks_max> rooms_;
  std::array<LinesAnswer<Result>*, Run::blocks_max> answers_{};
};

}  // namespace

// One batch to the home of a run: a look at each block, its bytes if they are wanted, and then the words that
// tell whether the home was still the home, for all blocks.
struct Runs::Look {
  Look(BufferPool& pool, std::size_t count) : answers(pool, count) {}

  std::array<LookRequest, Run::blocks_max> requests;
  Answers<LookResult> answers;
  std::array<BlockWords, Run::blocks_max> owners_after;
  std::array<BlockWords, Run::blocks_max> versions_after;
  std::array<Step, 3 * Run::blocks_max + 2> steps;

  bool brings_bytes(std::size_t i) const {
    const fabric::Verdict verdict = answers[i].end.verdict;
    return verdict == looks::in_copy || verdict == looks::in_use;
  }
};

// The same from the writer of a run.
struct Runs::Copies {
  Copies(BufferPool& pool, std::size_t count) : answers(pool, count) {}

  std::array<CopyRequest, Run::blocks_max> requests;
  Answers<CopyResult> answers;
  std::array<BlockWords, Run::blocks_max> words_after;
  std::array<Step, 2 * Run::blocks_max + 1> steps;
};

// `place`: among the blocks that come along; 0 is the first.
bool Runs::comes_along(const HeldBlock& b, Touch touch, std::size_t place, std::uint32_t ahead) const {
  if (ground_.store.has_private_parts(b)) return false;
  if (place + 1 < touch.named) return rules::may_come_along(b.entry, touch.wanted);
  const bool moves_home = touch.wanted == vm::Access::write && !rules::is_valid(b.entry);
  const bool in_stream = place < ahead && (!moves_home || ahead >= StreamDetector::sure_length);
  const bool worth_it = rules::is_worth_fetching_ahead(b.entry, ground_.parameters);
  return rules::comes_along(b.entry, touch.wanted, in_stream, worth_it);
}

// The length of a run, its leader included. One run is under way at a time, so the link is idle for a round
// trip with each: a run is a multiple of the link's bandwidth-delay product.
std::size_t Runs::length_max(const HeldBlock& next, std::size_t block_bytes) const {
  MUSUBI_CHECK(block_bytes != 0);
  constexpr std::size_t lines_per_run = 8;
  const Parameters& parameters = ground_.parameters;
  const std::size_t line_bytes = ground_.fabric.capabilities(source_of(next).rank).bandwidth_delay_bytes;
  const std::size_t bytes =
      std::max(parameters.run_bytes_max, std::min(parameters.far_run_bytes_max, lines_per_run * line_bytes));
  return std::min(Run::blocks_max, bytes / block_bytes);
}

void Runs::gather(const HeldBlock& leader, Touch touch, Run& run) {
  MUSUBI_CHECK(run.count == 0);
  // A plain flag that came along would be read ahead of its data. Only blocks whose bytes are here come along
  // then.
  const bool valid_only = ground_.keeps_order();
  if (valid_only && !rules::is_valid(leader.entry)) return;
  const vm::Segment& segment = ground_.space.segment_of(leader.id);
  std::size_t most = ground_.parameters.run_bytes_max / segment.block_bytes;
  if (most < 2) return;
  StreamDetector& streams = touch.wanted == vm::Access::write ? write_streams_ : read_streams_;
  const std::uint32_t ahead = touch.named_all ? 0 : streams.missed(leader.id);
  const std::uint64_t end = segment.first_block.value + segment.blocks;
  run.first = BlockId{leader.id.value + 1};
  while (run.count + 1 < most && run.first.value + run.count < end) {
    const BlockId id{run.first.value + run.count};
    if (!vm::is_in_use(segment, id.value - segment.first_block.value)) break;
    std::optional<HeldBlock> entered = ground_.try_enter(id);
    if (!entered) break;
    HeldBlock& b = *entered;
    const bool is_valid = rules::is_valid(b.entry);
    if (!comes_along(b, touch, run.count, ahead) || (valid_only && !is_valid)) break;
    if (run.count == 0) most = length_max(b, segment.block_bytes);
    if (touch.wanted == vm::Access::read && b.entry.habits.was_invalidated) ++b.entry.habits.fetches_ahead;
    Run::Member& member = run.members[run.count++];
    member.was_valid = is_valid;
    member.block.emplace(std::move(b));
  }
  if (run.count != 0) streams.opened(leader.id, run.id(run.count));
}

Task<> Runs::make_valid(Run& run, vm::Access wanted) {
  std::size_t valid = 0;
  while (valid < run.count) {
    const std::size_t begin = valid;
    HeldBlock& b = ground_.look_again(run.block(begin));
    if (run.members[begin].was_valid) {
      ++valid;
      continue;
    }
    if (wanted == vm::Access::write && fetches_.looks_untouched(b)) {
      valid = co_await touch_first(run, begin);
    } else if (ground_.is_home(b)) {
      const bool at_home = co_await leases_.redate_at_home(b);
      if (at_home) ++valid;
    } else {
      const Source source = source_of(b);
      std::size_t end = begin + 1;
      while (end < run.count && !run.members[end].was_valid && source_of(run.block(end)) == source) ++end;
      // Not by a conditional expression: gcc 12 gets that wrong and may carry out both.
      if (source.by_hint) {
        valid += co_await fetch_by_hint(run, begin, end, source.rank);
      } else {
        valid += co_await fetch_from_home(run, begin, end, source.rank);
      }
    }
    for (std::size_t i = begin; i < valid; ++i) {
      leases_.watch(run.block(i));
      if (run.block(i).entry.held.read_ts < ground_.times.acquired()) valid = i;
    }
    if (valid == begin) break;
  }
  MUSUBI_CHECK(valid <= run.count);
  run.shorten(valid);
}

// No rank has written the blocks yet. Each has a lock of its own at its initial home, mostly the same rank's,
// so their trips overlap. Result: up to which member the run is valid now.
Task<std::size_t> Runs::touch_first(Run& run, std::size_t begin) {
  MUSUBI_CHECK(begin < run.count);
  TaskGroup touches(Run::blocks_max);
  std::size_t end = begin;
  for (; end < run.count && !run.members[end].was_valid; ++end) {
    if (!fetches_.looks_untouched(run.block(end))) break;
    co_await touches.admit(touch_member(run.block(end)));
  }
  co_await touches.drain();
  co_return end;
}

Task<> Runs::touch_member(HeldBlock& b) {
  co_await fetches_.fetch_for_writing(b);
}

Source Runs::source_of(const HeldBlock& b) const {
  const Entry& e = b.entry;
  if (ground_.own_word(b).tag() != Ownership::link) return {ground_.self(), false};
  if (ground_.names_a_copy(e)) return {e.known.writer(), true};
  return {fetches_.first_place_to_look(b), false};
}

// Block by block, since a few lines may do. Result: up to which member the run is valid now, as a count from
// `begin`.
Task<std::size_t> Runs::fetch_by_hint(Run& run, std::size_t begin, std::size_t end, Rank writer) {
  const std::size_t length = end - begin;
  MUSUBI_CHECK(length != 0 && end <= run.count && writer != ground_.self());
  Copies batch(lines_.answers(), length);
  std::size_t steps = 0;
  for (std::size_t i = 0; i < length; ++i) {
    const HeldBlock& b = run.block(begin + i);
    const LinesWanted lines = lines_.wanted(b, LinesAnswer<CopyResult>::room);
    batch.requests[i] = {b.id.value, b.entry.known.newest.write_ts.value, 0, 1, lines};
    batch.steps[steps++] = call(copy_procedure, batch.requests[i], batch.answers[i]);
    batch.steps[steps++] = fabric::if_verdict(
        copies::here, fabric::get(published_region, b.extent.offset, b.own, b.extent.bytes));
  }
  batch.steps[steps++] = fabric::get(words_region, word_offset(run.id(begin), 0), batch.words_after.data(),
                                     length * sizeof(BlockWords));
  co_await fabric::transfer(ground_.fabric, writer, std::span<const Step>(batch.steps.data(), steps));
  std::size_t valid = 0;
  bool all_came = true;
  for (std::size_t i = 0; i < length; ++i) {
    HeldBlock& b = ground_.look_again(run.block(begin + i));
    const LinesAnswer<CopyResult>& answer = batch.answers[i];
    const fabric::Verdict verdict = answer.end.verdict;
    if (verdict == copies::here) b.entry.copy.bytes_lost = true;
    all_came = all_came && (verdict == copies::here || verdict == copies::in_lines) &&
               !ground_.is_given_back(answer.result.version, batch.words_after[i].version);
    if (!all_came) continue;
    if (verdict == copies::in_lines) {
      lines_.lay(b, b.own, answer.lines, answer.came());
    } else {
      ground_.count_fetch(b);
    }
    arrivals_.accept(b, {b.entry.known.newest.write_ts, b.entry.known.newest.read_ts}, b.own,
                     Giver{writer, answer.result.atomic_words});
    ++valid;
  }
  co_return valid;
}

// One trip. Words of several blocks may be torn against each other; each word is whole. So all owner words
// are brought, and then the versions. Result: as above.
Task<std::size_t> Runs::fetch_from_home(Run& run, std::size_t begin, std::size_t end, Rank peer) {
  MUSUBI_CHECK(begin < end && end <= run.count);
  if (peer == ground_.self()) co_return 0;
  const std::size_t length = end - begin;
  Look look(lines_.answers(), length);
  std::size_t steps = 0;
  for (std::size_t i = 0; i < length; ++i) {
    const HeldBlock& b = run.block(begin + i);
    look.requests[i] =
        fetches_.request_for(b, BytesFrom::home, lines_.wanted(b, LinesAnswer<LookResult>::room));
    const auto get_bytes = [&](fabric::RegionId region) {
      return fabric::get(region, b.extent.offset, b.own, b.extent.bytes);
    };
    look.steps[steps++] = call(look_procedure, look.requests[i], look.answers[i]);
    look.steps[steps++] = fabric::if_verdict(looks::in_copy, get_bytes(published_region));
    look.steps[steps++] = fabric::if_verdict(looks::in_use, get_bytes(private_region));
  }
  const auto get_words = [&](std::array<BlockWords, Run::blocks_max>& to) {
    return fabric::get(words_region, word_offset(run.id(begin), 0), to.data(), length * sizeof(BlockWords));
  };
  look.steps[steps++] = get_words(look.owners_after);
  look.steps[steps++] = get_words(look.versions_after);
  co_await fabric::transfer(ground_.fabric, peer, std::span<const Step>(look.steps.data(), steps));
  for (std::size_t i = 0; i < length; ++i) {
    if (look.brings_bytes(i)) ground_.store.entry(run.id(begin + i)).copy.bytes_lost = true;
  }
  std::size_t valid = 0;
  while (valid < length && accept_from_home(ground_.look_again(run.block(begin + valid)), peer, look, valid))
    ++valid;
  co_return valid;
}

bool Runs::accept_from_home(HeldBlock& b, Rank peer, const Look& look, std::size_t i) {
  const fabric::Verdict verdict = look.answers[i].end.verdict;
  if (verdict == looks::elsewhere || verdict == looks::changing) return false;
  const LookResult& found = look.answers[i].result;
  if (!is_home(b, peer, look.owners_after[i].owner)) return false;
  if (look.versions_after[i].version != found.words.version) return false;
  ground_.note_home(b, peer);
  const bool moved = verdict != looks::same_version;
  if (look.brings_bytes(i)) ground_.count_fetch(b);
  if (verdict == looks::in_lines) lines_.lay(b, b.own, look.answers[i].lines, look.answers[i].came());
  if (!moved) ground_.count(Counter::renewals);
  b.entry.copy.bytes_lost = false;  // those of the same version have come
  arrivals_.accept(b, {LogicalTime{found.words.write_ts}, LogicalTime{found.leased_until}},
                   moved ? b.own : nullptr, giver_of(peer, found.words));
  return true;
}

void Runs::set_open(const HeldBlock& b, vm::Access wanted) {
  Entry& e = b.entry;
  MUSUBI_CHECK(!e.copy.pinned && !e.copy.bytes_lost);
  ground_.note_resident(b);
  e.came_in = 0;
  e.copy.rested = false;
  e.copy.state = rules::when_opened(e.copy.state, wanted);
  if (wanted == vm::Access::read) return;
  e.habits.idle_releases = 0;
  e.compared_in = 0;
  e.habits.last_opening = e.published.given_up ? Opening::changed : Opening::in_vain;
}

void Runs::list_all(HeldBlock& leader, Run& run) {
  ground_.list(leader);
  for (std::size_t i = 0; i < run.count; ++i) ground_.list(run.block(i));
}

void Runs::open(HeldBlock& leader, bool leader_was_valid, vm::Access wanted, Run& run) {
  set_open(leader, wanted);
  for (std::size_t i = 0; i < run.count; ++i) set_open(run.block(i), wanted);
  ground_.count(Counter::opened_along, run.count);
  // Before the pages open: another thread of the rank may write to them at once and release.
  const bool late = ground_.injected(InjectedBug::listed_too_late);
  if (wanted == vm::Access::write && !late) list_all(leader, run);
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
  if (wanted == vm::Access::write && late) list_all(leader, run);
}

}  // namespace musubi::coherence::migrating
