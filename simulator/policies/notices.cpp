#include "simulator/policies/notices.h"

#include "fabric/transfer.h"

namespace musubi::coherence {

using fabric::Step;

Notices::Notices(const vm::Space& space, fabric::Fabric& fabric, vm::Vm& vm, trace::Counters& counters,
                 remote_lock::Grants& grants, const RankMemory& memory, const Parameters& parameters,
                 const PrivateParts* private_parts)
    : FixedHome(space, fabric, vm, counters, grants, memory, parameters, private_parts),
      signature_(*memory.signature),
      versions_(space.blocks_max()) {}

// The version first: the bytes are at least as new as it says.
Task<bool> Notices::bring(Block& b, std::byte* target) {
  std::uint64_t version = 0;
  std::array<Step, 2> steps{
      fabric::get(words_region, word_offset(b.id, offsetof(BlockWords, version)), &version, sizeof version),
      fabric::get(private_region, b.extent.offset, target, b.extent.bytes)};
  co_await fabric::transfer(fabric_, b.initial_home, steps);
  versions_[b.id.value] = version;
  co_return true;
}

Task<> Notices::publish(Block& b, Puts& puts) {
  std::uint64_t before = 0;
  if (is_at_home(b)) {
    before = shared(b.words.version).fetch_add(1);
  } else {
    puts.add(fabric::fetch_add(words_region, word_offset(b.id, offsetof(BlockWords, version)), &before, 1));
    co_await fabric::transfer(fabric_, b.initial_home, puts.steps());
    // No other rank has changed it since: the bytes here are the new version.
    if (versions_[b.id.value] == before) versions_[b.id.value] = before + 1;
  }
  signature_.add(Notice{b.id, LogicalTime{before + 1}, LogicalTime{}, fabric_.self()});
}

Task<> Notices::acquire(SignatureView signature, Audience audience, Scope) {
  auto pass = co_await acquire_gate_.enter();
  count(Counter::notices_received, signature.notices.size());
  std::vector<BlockId> to_refresh;
  for (const Notice& notice : signature.notices) co_await apply(notice, &to_refresh);
  if (signature.minimum != LogicalTime{}) co_await drop_everything(&to_refresh);
  co_await refresh_all(to_refresh);
  if (audience != Audience::everyone) signature_.add_all(signature);
}

Task<> Notices::apply(Notice notice, std::vector<BlockId>* to_refresh) {
  auto pass = co_await gate(notice.block).enter();
  Block b = block(notice.block);
  if (is_at_home(b) || !rules::is_valid(b.entry) || versions_[b.id.value] >= notice.write_ts.value) co_return;
  if (invalidate_or_keep(b)) to_refresh->push_back(b.id);
}

Task<> Notices::drop_everything(std::vector<BlockId>* to_refresh) {
  std::vector<BlockId> copies;
  copies_here_.for_each([this](BlockId id) { return block(id); }, [&](Block& b) { copies.push_back(b.id); });
  for (const BlockId id : copies) {
    auto pass = co_await gate(id).enter();
    Block b = block(id);
    if (rules::is_valid(b.entry) && invalidate_or_keep(b)) to_refresh->push_back(id);
  }
}

// A clock names no changed blocks: any may have changed, and a rank that acquires from here must assume so,
// too.
Task<> Notices::acquire_clock(LogicalTime) {
  co_await acquire({LogicalTime{1}, {}}, Audience::unknown, Scope::everything());
}

std::uint64_t Notices::signature(SignatureSink& sink) {
  return signature_.read([&sink](SignatureView view) { sink.take(view); });
}

}  // namespace musubi::coherence
