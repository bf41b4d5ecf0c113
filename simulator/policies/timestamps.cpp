#include "simulator/policies/timestamps.h"

#include <algorithm>

#include "fabric/transfer.h"

namespace musubi::coherence {

using fabric::Step;

namespace {

// The home's word (BlockWords::read_ts): the latest time of a lease or a version, and whether somebody may
// hold a lease on the present version.
constexpr std::uint64_t time_of(std::uint64_t word) {
  return word >> 1;
}
constexpr bool is_leased(std::uint64_t word) {
  return (word & 1) != 0;
}
constexpr std::uint64_t leased_until(std::uint64_t time) {
  return time << 1 | 1;
}
constexpr std::uint64_t one_tick = 2;

std::uint64_t lease_word(BlockId block) {
  return word_offset(block, offsetof(BlockWords, read_ts));
}
std::uint64_t version_word(BlockId block) {
  return word_offset(block, offsetof(BlockWords, version));
}

}  // namespace

Timestamps::Timestamps(const vm::Space& space, fabric::Fabric& fabric, vm::Vm& vm, trace::Counters& counters,
                       remote_lock::Grants& grants, const RankMemory& memory, const Parameters& parameters,
                       const PrivateParts* private_parts)
    : FixedHome(space, fabric, vm, counters, grants, memory, parameters, private_parts),
      signature_(*memory.signature),
      copies_(space.blocks_max()) {}

void Timestamps::advance(std::uint64_t time) {
  if (time <= now_) return;
  now_ = time;
  signature_.add_all({LogicalTime{time}, {}});
}

// The lease first, then version and bytes: a writer after the lease gets a later time than its end, a
// writer before it has raised the version already. If the lease word has changed, the lease that it shows is
// long enough for this rank, too, or the rank tries again.
Task<bool> Timestamps::bring(Block& b, std::byte* target) {
  Copy& copy = copies_[b.id.value];
  const std::uint64_t lease = std::max<std::uint64_t>(1, parameters_.lease_ticks) << copy.doublings;
  bool with_bytes = copy.version == 0 || copy.changed_last;
  // Where the home changes it all the time, it has most likely ended our lease by one release.
  if (copy.changed_last && is_leased(copy.home_word)) copy.home_word = (time_of(copy.home_word) + 1) << 1;
  for (;;) {
    const std::uint64_t expected = copy.home_word;
    const std::uint64_t end = std::max(now_, time_of(expected)) + lease;
    std::uint64_t seen = 0;
    std::uint64_t version = 0;
    std::array<Step, 3> steps{
        fabric::compare_swap(words_region, lease_word(b.id), &seen, expected, leased_until(end)),
        fabric::get(words_region, version_word(b.id), &version, sizeof version),
        fabric::get(private_region, b.extent.offset, target, b.extent.bytes)};
    co_await fabric::transfer(fabric_, b.initial_home,
                              std::span<const Step>(steps).first(with_bytes ? 3 : 2));
    copy.home_word = seen == expected ? leased_until(end) : seen;
    const bool holds = is_leased(copy.home_word) && time_of(copy.home_word) > now_;
    if (!holds) continue;
    const bool changed = version + 1 != copy.version;
    if (changed && !with_bytes) {
      with_bytes = true;
      continue;
    }
    copy.lease_end = time_of(copy.home_word);
    copy.version = version + 1;
    copy.changed_last = changed;
    copy.doublings = changed ? std::uint8_t{0} : std::min(doublings_max, std::uint8_t(copy.doublings + 1));
    co_return with_bytes;
  }
}

Task<> Timestamps::publish(Block& b, Puts& puts) {
  if (is_at_home(b)) {
    publish_at_home(b);
    co_return;
  }
  std::uint64_t version = 0;
  std::uint64_t word = 0;
  puts.add(fabric::fetch_add(words_region, version_word(b.id), &version, 1));
  puts.add(fabric::fetch_add(words_region, lease_word(b.id), &word, one_tick));
  co_await fabric::transfer(fabric_, b.initial_home, puts.steps());
  Copy& copy = copies_[b.id.value];
  if (copy.version == version + 1) copy.version = version + 2;  // no other rank changed it since
  copy.home_word = word + one_tick;
  advance(time_of(copy.home_word));
}

// Without a lease on the present version no rank holds it, and copies of earlier ones end before its time.
void Timestamps::publish_at_home(Block& b) {
  shared(b.words.version).fetch_add(1);
  std::uint64_t word = shared(b.words.read_ts).load();
  while (is_leased(word)) {
    const std::uint64_t next = (time_of(word) + 1) << 1;
    if (!shared(b.words.read_ts).compare_exchange_strong(word, next)) continue;
    advance(time_of(next));
    return;
  }
}

Task<> Timestamps::acquire(SignatureView signature, Audience, Scope) {
  co_await acquire_clock(signature.minimum);
}

Task<> Timestamps::acquire_clock(LogicalTime time) {
  auto pass = co_await acquire_gate_.enter();
  advance(time.value);
  std::vector<BlockId> lapsed;
  copies_here_.for_each([this](BlockId id) { return block(id); },
                        [&](Block& b) {
                          if (copies_[b.id.value].lease_end < now_) lapsed.push_back(b.id);
                        });
  std::vector<BlockId> to_refresh;
  for (const BlockId id : lapsed) {
    auto pass_of_block = co_await gate(id).enter();
    Block b = block(id);
    const bool still = rules::is_valid(b.entry) && copies_[id.value].lease_end < now_;
    if (still && invalidate_or_keep(b)) to_refresh.push_back(id);
  }
  co_await refresh_all(to_refresh);
}

std::uint64_t Timestamps::signature(SignatureSink& sink) {
  return signature_.read([&sink](SignatureView view) { sink.take(view); });
}

}  // namespace musubi::coherence
