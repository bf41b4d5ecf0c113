// The order of the steps is what makes them safe. The lease comes before the bytes: a version that is made
// after it is dated behind it, and one that is made before the bytes were read shows in the words behind
// them. The mark comes between lease and bytes: a release that does not find it has begun before the bytes
// were read, so they have all that it released.
#include "coherence/migrating/home_looks.h"

#include <atomic>
#include <optional>

#include "coherence/regions.h"
#include "coherence/rules/leases.h"
#include "coherence/rules/looks.h"
#include "remote_lock/owner_word.h"

namespace musubi::coherence::migrating {
namespace {

using fabric::Call;
using fabric::Verdict;
using remote_lock::Ownership;
using remote_lock::OwnerWord;

// Other readers raise the same word; whom they overtake so often comes again.
constexpr unsigned attempts_max = 4;

std::uint64_t load(std::uint64_t& word) noexcept {
  return std::atomic_ref(word).load();
}

// `version` first.
BlockWords load_words(BlockWords& words) noexcept {
  BlockWords seen{};
  seen.version = load(words.version);
  seen.owner = load(words.owner);
  seen.write_ts = load(words.write_ts);
  seen.read_ts = load(words.read_ts);
  seen.public_ts = load(words.public_ts);
  seen.atomic_words = load(words.atomic_words);
  seen.tail = load(words.tail);
  seen.stillness = load(words.stillness);
  return seen;
}

// From below, and the count of visits last. Result: false if there is no such block.
bool mark(const Call& call, const VisitLayout& layout, std::uint64_t block) noexcept {
  std::uint64_t index = block;
  for (unsigned level = 0; level < VisitLayout::levels; ++level, index /= VisitLayout::fanout) {
    auto* const place = call.object_at<std::uint8_t>(words_region, layout.mark(level, index));
    if (place == nullptr) return false;
    std::atomic_ref(*place).store(1);
  }
  auto* const visits = call.object_at<std::uint64_t>(words_region, layout.visits());
  if (visits == nullptr) return false;
  std::atomic_ref(*visits).fetch_add(1);
  return true;
}

// Result: until when the version of `seen` may be held; 0: its words have changed.
std::uint64_t lease(BlockWords& words, const BlockWords& seen, const LookRequest& request,
                    const Hooks& hooks) noexcept {
  const Version version{LogicalTime{seen.write_ts}, LogicalTime{seen.read_ts}};
  if (rules::is_leased_until(version, LogicalTime{request.acquired})) return seen.read_ts;
  const rules::Asked asked = rules::asked_for(version.write_ts, LogicalTime{request.write_ts});
  const LogicalTime end =
      rules::wanted_lease(asked, version.write_ts, LogicalTime{request.acquired}, request.shortest_lease);
  const std::uint64_t wanted = later(version.read_ts, end).value;
  if (asked == rules::Asked::again && hooks.injected(InjectedBug::lease_not_put_down)) return wanted;
  std::uint64_t expected = seen.read_ts;
  return std::atomic_ref(words.read_ts).compare_exchange_strong(expected, wanted) ? wanted : 0;
}

Verdict wanted_bytes(const BlockWords& home, const LookRequest& request) noexcept {
  if (home.write_ts == request.write_ts && request.has_bytes != 0) return looks::same_version;
  return home.unpublished() ? looks::in_use : looks::in_copy;
}

// The bytes are wanted from the public copy: whether they come from this rank, or from another reader.
Verdict giver_of_copy(const Call& call, const HomeSide& side, const LookRequest& request,
                      LookResult& result) noexcept {
  if (side.places == 0 || request.bytes_from == BytesFrom::home) return looks::in_copy;
  if (request.bytes_from == BytesFrom::reader) return looks::relayed;
  const BlockId block{request.block};
  auto* const record = call.object_at<RelayRecord>(words_region, side.layout.relays().record(block));
  if (record == nullptr || block.value >= side.store->space().blocks()) return fabric::malformed;
  const std::optional<Rank> relay = RelayBoard(*record).place(block, LogicalTime{result.words.write_ts},
                                                              call.caller(), side.places_for(block), 0);
  if (!relay) return looks::in_copy;
  result.relay = relay->value + 1;
  return looks::relayed;
}

}  // namespace

Verdict look_at_home(Call& call, const void* data) noexcept {
  const HomeSide& side = *static_cast<const HomeSide*>(data);
  LookRequest request;
  if (!call.read(request)) return fabric::malformed;
  auto* const words = call.object_at<BlockWords>(words_region, word_offset(BlockId{request.block}, 0));
  if (words == nullptr || request.block >= side.layout.count(0)) return fabric::malformed;
  for (unsigned attempt = 0; attempt < attempts_max; ++attempt) {
    LookResult result{load_words(*words), 0, 0};
    const OwnerWord owner = OwnerWord{result.words.owner}.resolved(call.target(), Rank{request.initial_home});
    if (owner.tag() == Ownership::link) return call.add(result) ? looks::elsewhere : fabric::malformed;
    if (owner.tag() != Ownership::unlocked) return looks::changing;
    side.hooks.others_may_act();
    result.leased_until = lease(*words, result.words, request, side.hooks);
    if (result.leased_until == 0) continue;
    const bool was_leased = result.leased_until == result.words.read_ts;
    const InjectedBug unmarked =
        was_leased ? InjectedBug::leased_without_mark : InjectedBug::reader_without_mark;
    Verdict verdict = wanted_bytes(result.words, request);
    if (verdict == looks::in_copy) verdict = giver_of_copy(call, side, request, result);
    if (verdict == fabric::malformed) return verdict;
    side.hooks.others_may_act();
    const bool visits = verdict == looks::in_use && result.words.sleeps();
    if (visits && !side.hooks.injected(unmarked) && !mark(call, side.layout, request.block)) {
      return fabric::malformed;
    }
    if (!call.add(result)) return fabric::malformed;
    if (verdict == looks::in_use) {
      ask_for_lines(call, side, BlockId{request.block}, request.lines, LogicalTime{result.words.write_ts},
                    result.words.version);
    }
    const bool has_version = result.words.public_ts == result.words.write_ts;
    if (verdict == looks::in_copy && has_version &&
        give_lines(call, side, BlockId{request.block}, request.lines, LogicalTime{result.words.write_ts},
                   result.words.version))
      verdict = looks::in_lines;
    return verdict;
  }
  return looks::changing;
}

}  // namespace musubi::coherence::migrating
