// The changes go into the home's public copy, and into the bytes that its program sees, where this has not
// changed them itself. They are laid over what the public copy has, line by line, and each line is merged: so
// one kernel does it, with the rule for words, as where the visitor reaches the home's memory.
#include "coherence/migrating/home_changes.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <span>

#include "coherence/regions.h"
#include "coherence/rules/writers.h"

namespace musubi::coherence::migrating {
namespace {

using fabric::Call;
using fabric::Verdict;
using Bytes = std::span<const std::byte>;

// Takes the first run from what is left. Result: false if that is none.
bool take_run(Bytes& left, ChangedRun& run, Bytes& bytes) noexcept {
  if (left.size() < sizeof run) return false;
  std::memcpy(&run, left.data(), sizeof run);
  left = left.subspan(sizeof run);
  if (run.bytes > left.size()) return false;
  bytes = left.first(run.bytes);
  left = left.subspan(run.bytes);
  return true;
}

bool are_runs(Bytes all, std::size_t block_bytes) noexcept {
  ChangedRun run;
  Bytes bytes;
  while (!all.empty()) {
    if (!take_run(all, run, bytes)) return false;
    if (run.begin > block_bytes || run.bytes > block_bytes - run.begin) return false;
  }
  return true;
}

class Overlay {
 public:
  Overlay(BlockStore& store, const Block& block, HomeBytes home, MergeUnit& unit) noexcept
      : store_(store), block_bytes_(block.extent.bytes), home_(home), unit_(unit) {}

  void lay(std::size_t at, Bytes bytes) noexcept {
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
LineMask merge(const HomeSide& side, const Block& block, HomeBytes home, Rank caller, Bytes runs) noexcept {
  MergeUnit unit = side.store->unit_of(block, home.own, caller);
  Overlay overlay(*side.store, block, home, unit);
  ChangedRun run;
  Bytes bytes;
  LineMask lines;
  while (take_run(runs, run, bytes)) {
    overlay.lay(run.begin, bytes);
    lines.set_bytes(run.begin, run.begin + run.bytes, block.extent.bytes);
  }
  overlay.end_line();
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
  const Bytes runs = call.arguments().subspan(sizeof request);
  HomeSection section(call, side, request.block);
  HomeBytes home{call.at(private_region, block.extent.offset, block.extent.bytes),
                 call.at(published_region, block.extent.offset, block.extent.bytes)};
  if (!section.exists() || home.own == nullptr || home.published == nullptr ||
      !are_runs(runs, block.extent.bytes)) {
    return fabric::malformed;
  }
  ChangesResult result{};
  const Verdict entered = section.enter(Rank{request.initial_home}, result.home);
  if (entered == changes_at_home::elsewhere) return call.add(result) ? entered : fabric::malformed;
  if (entered != changes_at_home::done) return entered;
  result.found = section.version();
  const bool may = may_change(side.hooks, section) && result.found.write_ts.value >= request.write_ts;
  if (may) {
    // Threads that wait at a barrier use their stacks.
    const bool holds_stacks = side.store->space().segment_of(block.id).holds_stacks;
    if (section.is_quiescent() && !holds_stacks) home.sharing = Sharing::exclusive;
    result.atomic_words = std::atomic_ref(section.words().atomic_words).load();
    const LineMask lines = merge(side, block, home, call.caller(), runs);
    result.version = rules::name_beside_home(result.found, LogicalTime{request.acquired}, *side.parameters);
    section.name(result.version);
    section.end_change(result.found, lines);
  }
  section.leave();
  if (!may) return changes_at_home::refused;
  return call.add(result) ? changes_at_home::done : fabric::malformed;
}

}  // namespace musubi::coherence::migrating
