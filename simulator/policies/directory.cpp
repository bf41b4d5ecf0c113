#include "simulator/policies/directory.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/task_group.h"
#include "fabric/transfer.h"

namespace musubi::coherence {

using fabric::Step;

Directory::Directory(const vm::Space& space, fabric::Fabric& fabric, vm::Vm& vm, trace::Counters& counters,
                     remote_lock::Grants& grants, const RankMemory& memory, const Parameters& parameters,
                     const PrivateParts* private_parts)
    : FixedHome(space, fabric, vm, counters, grants, memory, parameters, private_parts),
      words_per_block_(sharers_words(fabric.ranks())),
      copies_(space.blocks_max()) {
  fabric.listen(invalidation, this);
}

// On the list first, then the bytes: a rank that changes them afterwards finds this rank there. An
// invalidation that arrives in the meantime may concern the bytes to come, or the earlier ones.
Task<bool> Directory::bring(Block& b, std::byte* target) {
  executor_ = &co_await this_executor();
  Copy& copy = copies_[b.id.value];
  for (;;) {
    const std::uint32_t invalidations = copy.invalidations;
    std::uint64_t ignored = 0;
    std::array<Step, 2> steps{
        fabric::fetch_add(sharers_region, sharers_offset(b.id, own_word()), &ignored, own_bit()),
        fabric::get(private_region, b.extent.offset, target, b.extent.bytes)};
    const std::size_t skipped = copy.registered ? 1 : 0;
    copy.registered = true;
    co_await fabric::transfer(fabric_, b.initial_home, std::span<const Step>(steps).subspan(skipped));
    if (invalidations == copy.invalidations) co_return true;
  }
}

// A rank on the list when the puts have taken effect may hold bytes from before. A rank that comes later does
// not.
Task<> Directory::publish(Block& b, Puts& puts) {
  std::vector<std::uint64_t> words(words_per_block_);
  puts.add(fabric::get(sharers_region, sharers_offset(b.id, 0), words.data(),
                       words.size() * sizeof(std::uint64_t)));
  co_await fabric::transfer(fabric_, b.initial_home, puts.steps());
  words[own_word()] &= ~own_bit();
  std::vector<Rank> sharers;
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (std::uint64_t bits = words[i]; bits != 0; bits &= bits - 1) {
      sharers.push_back(
          Rank{static_cast<std::uint32_t>(i * 64) + static_cast<std::uint32_t>(std::countr_zero(bits))});
    }
  }
  co_await invalidate_at(b.id, sharers);
}

Task<> Directory::invalidate_at(BlockId block, const std::vector<Rank>& sharers) {
  if (sharers.empty()) co_return;
  Pending pending{++releases_, static_cast<std::uint32_t>(sharers.size()), {}};
  pending_.push_back(&pending);
  const Message message{block.value, pending.number, 0};
  for (const Rank sharer : sharers) {
    co_await fabric::deliver(fabric_, sharer, invalidation, fabric::Urgency::promptly,
                             std::as_bytes(std::span{&message, 1}));
  }
  co_await pending.all_answered;
}

const char* Directory::on_message(Rank from, std::span<const std::byte> body) noexcept {
  Message message;
  MUSUBI_CHECK(body.size() == sizeof message);
  std::memcpy(&message, body.data(), sizeof message);
  if (message.is_answer != 0) {
    const auto found = std::find_if(pending_.begin(), pending_.end(),
                                    [&](const Pending* p) { return p->number == message.number; });
    MUSUBI_CHECK(found != pending_.end(), "an answer that nobody waits for");
    Pending* pending = *found;
    if (--pending->answers_missing != 0) return nullptr;
    pending_.erase(found);
    pending->all_answered.set();
    return nullptr;
  }
  give_up(BlockId{message.block});
  answers_.push_back({from, {message.block, message.number, 1}});
  if (answering_.has_value() && !answering_->done()) return nullptr;
  answering_.emplace(answer_all());
  answering_->start(*executor_, nullptr);
  return nullptr;
}

// Not under the block's gate: its holder looks again after each wait.
void Directory::give_up(BlockId id) {
  Block b = block(id);
  ++copies_[id.value].invalidations;
  if (!rules::is_valid(b.entry)) {
    leaving_.push_back(id);
    return;
  }
  if (worth_fetching_ahead(b.entry)) {
    lost_.push_back(id);
  } else {
    b.entry.habits.wanted = false;
    b.entry.habits.fetches_ahead = 0;
  }
  invalidate(b);
}

// Waits for no gate: two ranks could wait for each other's answers.
Task<> Directory::answer_all() {
  while (!answers_.empty()) {
    const Answer answer = answers_.back();
    answers_.pop_back();
    co_await fabric::deliver(fabric_, answer.to, invalidation, fabric::Urgency::promptly,
                             std::as_bytes(std::span{&answer.message, 1}));
  }
}

Task<> Directory::leave(BlockId id) {
  auto pass = co_await gate(id).enter();
  Block b = block(id);
  Copy& copy = copies_[id.value];
  if (rules::is_valid(b.entry) || !copy.registered) co_return;
  std::uint64_t ignored = 0;
  std::array<Step, 1> step{
      fabric::fetch_add(sharers_region, sharers_offset(id, own_word()), &ignored, ~own_bit() + 1)};
  co_await fabric::transfer(fabric_, b.initial_home, step);
  copy.registered = false;
}

// Copies are given up when an invalidation arrives. An acquire fetches those that are read again and again,
// and takes this rank off the lists of the rest.
Task<> Directory::acquire(SignatureView, Audience, Scope) {
  auto pass = co_await acquire_gate_.enter();
  std::vector<BlockId> lost;
  lost.swap(lost_);
  co_await refresh_all(lost);
  std::vector<BlockId> leaving;
  leaving.swap(leaving_);
  TaskGroup leaves(parameters_.release_window);
  for (const BlockId id : leaving) co_await leaves.admit(leave(id));
  co_await leaves.drain();
}

Task<> Directory::acquire_clock(LogicalTime) {
  return acquire({}, Audience::unknown, Scope::everything());
}

std::uint64_t Directory::signature(SignatureSink& sink) {
  sink.take({});
  return 0;
}

}  // namespace musubi::coherence
