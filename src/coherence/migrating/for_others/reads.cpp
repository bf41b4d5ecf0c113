#include "coherence/migrating/for_others/reads.h"
#include "base/check.h"

#include <atomic>
#include <optional>

#include "coherence/regions.h"
#include "coherence/rules/leases.h"
#include "remote_lock/owner_word.h"

namespace musubi::coherence::migrating {
namespace {

using fabric::Call;
using fabric::Verdict;
using remote_lock::Ownership;
using remote_lock::OwnerWord;

// Other readers raise the same word; a reader that they overtake so often comes again.
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

// Threads of the home may write at the same time: no word is torn.
bool add_line(fabric::Call& call, const std::byte* from, std::size_t bytes) noexcept {
  MUSUBI_CHECK(bytes % sizeof(std::uint64_t) == 0);
  constexpr std::size_t word = sizeof(std::uint64_t);
  for (std::size_t at = 0; at < bytes; at += word) {
    auto* const place = reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(from + at));
    if (!call.add(std::atomic_ref(*place).load(std::memory_order_relaxed))) return false;
  }
  return true;
}

// A reader has room for only a few lines of larger blocks, and mostly more lines have changed.
bool has_small_lines(const vm::Extent& extent, const LinesWanted& wanted) noexcept {
  constexpr std::size_t lines_min = 8;
  return LineMask::line_bytes(extent.bytes) * lines_min <= wanted.room;
}

}  // namespace

// The order of the steps makes them safe. The lease comes before the bytes: a version made after the lease is
// dated after it, and a version made before the bytes were read shows in the words read after them. The mark
// comes between lease and bytes: a release that does not find it has begun before the bytes were read, so
// they have all that it released.
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

// The version first: if the copy goes while the bytes are read, the version read after them differs. Then the
// timestamp: bytes of a newer version may come along, but never older ones than it says.
fabric::Verdict give_copy(fabric::Call& call, const void* data) noexcept {
  const HomeSide& side = *static_cast<const HomeSide*>(data);
  CopyRequest request;
  if (!call.read(request) || request.block >= side.store->space().blocks()) return fabric::malformed;
  const BlockId block{request.block};
  auto* const words = call.object_at<BlockWords>(words_region, word_offset(block, 0));
  auto* const record = call.object_at<RelayRecord>(words_region, side.layout.relays().record(block));
  if (words == nullptr || record == nullptr) return fabric::malformed;
  if (request.insists == 0) {
    const std::optional<Rank> relay = RelayBoard(*record).place(
        block, LogicalTime{request.wanted}, call.caller(), side.places_for(block), request.links);
    if (relay) return call.add(CopyResult{0, 0, relay->value}) ? copies::relayed : fabric::malformed;
  }
  side.hooks.others_may_act();
  CopyResult result{};
  result.version = std::atomic_ref(words->version).load();
  const std::uint64_t public_ts = std::atomic_ref(words->public_ts).load();
  result.atomic_words = std::atomic_ref(words->atomic_words).load();
  const bool is_any = public_ts != 0 && side.hooks.injected(InjectedBug::relay_gives_what_it_has);
  if (public_ts < request.wanted && !is_any) {
    const bool is_coming = RelayBoard(*record).is_coming(block, LogicalTime{request.wanted});
    return is_coming ? copies::coming : copies::not_here;
  }
  if (!call.add(result)) return fabric::malformed;
  const bool in_lines = give_lines(call, side, block, request.lines, LogicalTime{public_ts}, result.version);
  return in_lines ? copies::in_lines : copies::here;
}

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
  std::atomic_thread_fence(std::memory_order_acquire);  // the caller's next reads are newer
  return fits;
}

}  // namespace musubi::coherence::migrating
