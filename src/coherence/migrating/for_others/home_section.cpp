#include "coherence/migrating/for_others/home_section.h"

#include <atomic>

#include "base/check.h"
#include "coherence/regions.h"
#include "remote_lock/owner_word.h"

namespace musubi::coherence::migrating {
namespace {

using fabric::Call;
using fabric::Verdict;
using remote_lock::Ownership;
using remote_lock::OwnerWord;

std::atomic_ref<std::uint64_t> shared(std::uint64_t& word) noexcept {
  return std::atomic_ref<std::uint64_t>(word);
}

BlockWords* words_of(const Call& call, const VisitLayout& layout, std::uint64_t block) noexcept {
  if (block >= layout.count(0)) return nullptr;
  return call.object_at<BlockWords>(words_region, word_offset(BlockId{block}, 0));
}

}  // namespace

HomeSection::HomeSection(const Call& call, const HomeSide& side, std::uint64_t block) noexcept
    : call_(call),
      side_(side),
      block_(block),
      words_(words_of(call, side.layout, block)),
      own_words_(call.at(words_region, side.layout.epoch(),
                         side.layout.visitors() + sizeof(std::uint64_t) - side.layout.epoch())) {}

std::uint64_t& HomeSection::own_word(std::uint64_t offset) const noexcept {
  MUSUBI_CHECK(offset >= side_.layout.epoch() && offset <= side_.layout.visitors());
  return *reinterpret_cast<std::uint64_t*>(own_words_ + (offset - side_.layout.epoch()));
}

// Counted before it looks whether the rank keeps order: a rank that begins to waits for all that are counted.
Verdict HomeSection::enter(Rank initial_home, std::uint32_t& home) noexcept {
  MUSUBI_CHECK(exists());
  const auto owner = shared(words_->owner);
  std::uint64_t seen = owner.load();
  const OwnerWord found = OwnerWord{seen}.resolved(call_.target(), initial_home);
  if (found.tag() == Ownership::link) {
    const remote_lock::TailWord tail{shared(words_->tail).load()};
    home = (call_.target() == initial_home ? tail.rank(initial_home) : found.target()).value;
    return changes_at_home::elsewhere;
  }
  const bool is_free = found == OwnerWord::unlocked();
  side_.hooks.others_may_act();
  if (!is_free || !owner.compare_exchange_strong(seen, OwnerWord::tried_by(call_.caller()).raw)) {
    return changes_at_home::busy;
  }
  side_.hooks.others_may_act();
  if (!side_.hooks.injected(InjectedBug::call_not_counted))
    shared(own_word(side_.layout.visitors())).fetch_add(1);
  side_.hooks.others_may_act();
  return changes_at_home::done;
}

LogicalTime HomeSection::public_ts() const noexcept {
  return LogicalTime{shared(words_->public_ts).load()};
}
bool HomeSection::has_bytes() const noexcept {
  const LogicalTime write_ts = version().write_ts;
  return write_ts != LogicalTime{} && public_ts() == write_ts;
}
bool HomeSection::is_live() const noexcept {
  return version().write_ts != LogicalTime{} && public_ts() == LogicalTime{};
}
bool HomeSection::keeps_order() const noexcept {
  return shared(own_word(side_.layout.order())).load() != 0;
}
bool HomeSection::holds_back() const noexcept {
  return shared(own_word(side_.layout.held_back())).load() != 0;
}
bool HomeSection::rests() const noexcept {
  return (shared(words_->stillness).load() & BlockWords::at_rest) != 0;
}

bool HomeSection::is_quiescent() const noexcept {
  return shared(own_word(side_.layout.quiescent())).load() != 0;
}

Version HomeSection::version() const noexcept {
  return {LogicalTime{shared(words_->write_ts).load()}, LogicalTime{shared(words_->read_ts).load()}};
}

void HomeSection::name(Version version) noexcept {
  MUSUBI_CHECK(version.read_ts >= version.write_ts);
  const bool has_copy = public_ts() != LogicalTime{};
  shared(words_->write_ts).store(version.write_ts.value);
  side_.hooks.others_may_act();
  shared(words_->read_ts).store(version.read_ts.value);
  side_.hooks.others_may_act();
  if (has_copy) shared(words_->public_ts).store(version.write_ts.value);
}

void HomeSection::end_change(Version found, const LineMask& lines) noexcept {
  side_.hooks.others_may_act();
  ChangeRecord* const record = record_of(call_, side_, block_);
  const LogicalTime next = public_ts();
  if (record != nullptr && next != LogicalTime{}) {
    const ChangeBoard board(*record, side_.hooks);
    if (board.is_worth_noting(block_))
      board.note(block_, found.write_ts, next, shared(words_->version).load(), lines);
  }
  side_.hooks.others_may_act();
  if (!side_.hooks.injected(InjectedBug::version_not_raised)) shared(words_->version).fetch_add(1);
}

void HomeSection::leave() noexcept {
  side_.hooks.others_may_act();
  shared(words_->owner).store(OwnerWord::unlocked().raw);
  side_.hooks.others_may_act();
  if (!side_.hooks.injected(InjectedBug::call_not_counted))
    MUSUBI_CHECK(shared(own_word(side_.layout.visitors())).fetch_sub(1) != 0);
}

}  // namespace musubi::coherence::migrating
