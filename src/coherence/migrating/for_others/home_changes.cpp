// The changes go into the home's public copy, and into the bytes that its program sees, where this has not
// changed them itself. They are laid over the bytes of the public copy, line by line, and each line is
// merged: so one kernel does it, with the rule for words.
#include "coherence/migrating/for_others/home_changes.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <span>

#include "base/check.h"
#include "coherence/regions.h"
#include "coherence/rules/writers.h"

namespace musubi::coherence::migrating {
namespace {

using fabric::Call;
using fabric::Verdict;
using Bytes = std::span<const std::byte>;

bool are_runs(ChangedRuns runs) noexcept {
  ChangedRuns::Run run;
  while (runs.take(run)) {
  }
  return runs.empty();
}

// Whether another rank has changed bytes of a run since the version of the caller's twin.
bool are_contested(ChangedRuns runs, const std::byte* published, const Hooks& hooks) noexcept {
  if (hooks.injected(InjectedBug::contest_not_seen)) return false;
  ChangedRuns::Run run;
  while (runs.take(run)) {
    if (check_of({published + run.begin, run.bytes.size()}) != run.check) return true;
  }
  return false;
}

// The bytes that the caller and another rank have both changed since the caller's twin; looked for before the
// caller's are laid over `published`.
class Contest {
 public:
  Contest(HomeBytes home, MergeUnit& unit) noexcept : home_(home), unit_(unit) {}

  void look_at(const ChangedRuns::Run& run) noexcept {
    for (std::size_t at = run.begin; at != run.end(); ++at) {
      const std::byte own = run.own_words[at - run.words_begin], twin = run.twin_words[at - run.words_begin];
      const std::byte published = home_.published[at];
      const bool changed_by_both = published != twin && (own != twin || unit_.keeps_what_is_proved());
      if (!changed_by_both || own == published) continue;
      if (races_.bytes++ == 0) races_.first = home_.own + at;
      note_word(run, at);
    }
  }
  const RaceCount& races() const noexcept { return races_; }

 private:
  // The word around `at`, once.
  void note_word(const ChangedRuns::Run& run, std::size_t at) noexcept {
    MUSUBI_CHECK(at >= run.words_begin);
    const std::size_t width = unit_.word_bytes(), begin = at / width * width;
    if (begin < noted_end_) return;
    noted_end_ = begin + width;
    const bool joined = is_joined(run, begin, width);
    unit_.note(home_.own + begin, width, !joined);
    races_.joined = races_.joined || joined;
  }
  // Whether the word keeps bytes of the caller and of another rank.
  bool is_joined(const ChangedRuns::Run& run, std::size_t begin, std::size_t width) const noexcept {
    const std::size_t end = std::min(begin + width, run.words_begin + run.own_words.size());
    for (std::size_t i = begin; i < end; ++i) {
      const bool is_sent = run.begin <= i && i < run.end();
      const std::byte own = run.own_words[i - run.words_begin];
      if (!is_sent && own == run.twin_words[i - run.words_begin] && own != home_.published[i]) return true;
    }
    return false;
  }

  const HomeBytes home_;
  MergeUnit& unit_;
  RaceCount races_{.first_is_known = true};
  std::size_t noted_end_ = 0;
};

class Overlay {
 public:
  Overlay(BlockStore& store, const Block& block, HomeBytes home, MergeUnit& unit) noexcept
      : store_(store), block_bytes_(block.extent.bytes), home_(home), unit_(unit) {}

  void lay(std::size_t at, Bytes bytes) noexcept {
    MUSUBI_CHECK(at <= block_bytes_ && bytes.size() <= block_bytes_ - at);
    while (!bytes.empty()) {
      const std::size_t line = at / line_bytes * line_bytes;
      if (line != line_ || filled_ == 0) turn_to(line);
      const std::size_t count = std::min(bytes.size(), line + line_bytes - at);
      std::memcpy(bytes_ + (at - line), bytes.data(), count);
      at += count;
      bytes = bytes.subspan(count);
    }
  }
  void end_line() noexcept {
    if (filled_ != 0) store_.merge_at_home(home_, line_, bytes_, filled_, unit_);
    filled_ = 0;
  }

 private:
  static constexpr std::size_t line_bytes = 512;

  void turn_to(std::size_t line) noexcept {
    end_line();
    line_ = line;
    filled_ = std::min(line_bytes, block_bytes_ - line);
    std::memcpy(bytes_, home_.published + line, filled_);
  }

  BlockStore& store_;
  const std::size_t block_bytes_;
  const HomeBytes home_;
  MergeUnit& unit_;
  std::size_t line_ = 0;
  std::size_t filled_ = 0;
  alignas(line_bytes) std::byte bytes_[line_bytes];
};

// Result: the lines.
LineMask merge(const HomeSide& side, const Block& block, HomeBytes home, Rank other,
               ChangedRuns runs) noexcept {
  MergeUnit unit = side.store->unit_of(block, home.own, other);
  Overlay overlay(*side.store, block, home, unit);
  Contest contest(home, unit);
  ChangedRuns::Run run;
  LineMask lines;
  while (runs.take(run)) {
    if (!run.twin_words.empty()) contest.look_at(run);
    overlay.lay(run.begin, run.bytes);
    lines.set_bytes(run.begin, run.end(), block.extent.bytes);
  }
  overlay.end_line();
  if (contest.races().bytes != 0) side.store->note_races(contest.races(), unit);
  return lines;
}

// Threads there may see new bytes at any time.
bool may_change(const Hooks& hooks, const HomeSection& section) noexcept {
  return section.has_bytes() && (hooks.injected(InjectedBug::visitor_beside_order) ||
                                 (!section.keeps_order() && !section.holds_back()));
}

}  // namespace

Verdict merge_changes_at_home(Call& call, const void* data) noexcept {
  const HomeSide& side = *static_cast<const HomeSide*>(data);
  ChangesRequest request;
  if (!call.read(request) || request.block >= side.store->space().blocks()) return fabric::malformed;
  const Block block = side.store->block(BlockId{request.block});
  const ChangedRuns runs(call.arguments().subspan(sizeof request), block.extent.bytes, request.twin);
  HomeSection section(call, side, request.block);
  HomeBytes home{call.at(private_region, block.extent.offset, block.extent.bytes),
                 call.at(published_region, block.extent.offset, block.extent.bytes)};
  if (!section.exists() || home.own == nullptr || home.published == nullptr || !are_runs(runs)) {
    return fabric::malformed;
  }
  ChangesResult result{};
  const Verdict entered = section.enter(Rank{request.initial_home}, result.home);
  if (entered == changes_at_home::elsewhere) return call.add(result) ? entered : fabric::malformed;
  if (entered != changes_at_home::done) return entered;
  result.found = section.version();
  const bool may = may_change(side.hooks, section) && result.found.write_ts.value >= request.write_ts;
  const bool contested =
      may && request.twin == Twin::left_out && are_contested(runs, home.published, side.hooks);
  if (may && !contested) {
    // Threads that wait at a barrier use their stacks.
    const bool holds_stacks = side.store->space().segment_of(block.id).holds_stacks;
    if (section.is_quiescent() && !holds_stacks) home.sharing = Sharing::exclusive;
    const Rank other = call.caller() == side.self ? call.target() : call.caller();
    result.atomic_words = std::atomic_ref(section.words().atomic_words).load();
    const LineMask lines = merge(side, block, home, other, runs);
    result.version = rules::name_beside_home(result.found, LogicalTime{request.acquired}, *side.parameters);
    section.name(result.version);
    section.end_change(result.found, lines);
  }
  section.leave();
  if (!may) return changes_at_home::refused;
  if (contested) return changes_at_home::contested;
  return call.add(result) ? changes_at_home::done : fabric::malformed;
}

}  // namespace musubi::coherence::migrating
