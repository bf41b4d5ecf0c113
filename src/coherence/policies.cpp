#include "coherence/policies.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "base/check.h"

namespace musubi::coherence {

// Plain flags are the first policy's: it alone holds back bytes that come out of order. Faults go to the
// policy of their block.
class Policies::OrderingOfFirst final : public Ordering {
 public:
  explicit OrderingOfFirst(Policies& policies)
      : policies_(policies), first_(policies.policies_.front()->ordering()) {}

  std::uint32_t acquire_begins() override { return first_.acquire_begins(); }
  Task<bool> acquire_ended(std::uint32_t number) override { return first_.acquire_ended(number); }
  bool shows_unordered() const override { return first_.shows_unordered(); }
  Task<> show_held_back() override { return first_.show_held_back(); }
  bool holds_back() const override { return first_.holds_back(); }
  Task<FaultOutcome> fault(BlockId block, Touch touch) override {
    return policies_.of(block).ordering().fault(block, touch);
  }
  void set_ordered(bool ordered) override { first_.set_ordered(ordered); }
  Task<> end_of_unordered() override { return first_.end_of_unordered(); }
  void set_quiescent(bool quiescent) override { first_.set_quiescent(quiescent); }
  Task<> hold_openings() override { return first_.hold_openings(); }
  Reread reread_while_held() const override { return first_.reread_while_held(); }
  void allow_openings() override { first_.allow_openings(); }
  void set_alone(bool alone) override { first_.set_alone(alone); }
  bool is_alone() const override { return first_.is_alone(); }
  void publish_always() override { first_.publish_always(); }
  Task<> release_as_of_now() override {
    co_await first_.release_as_of_now();
    for (std::size_t i = 1; i < policies_.policies_.size(); ++i) {
      co_await policies_.policies_[i]->release(Scope::everything(), false);
    }
  }
  Task<bool> has_released_at_barrier() override { return first_.has_released_at_barrier(); }

 private:
  Policies& policies_;
  Ordering& first_;
};

Policies::Policies(const vm::Space& space, std::vector<std::unique_ptr<Protocol>> policies,
                   Signature& signature, std::size_t notices_max)
    : space_(space),
      policies_(std::move(policies)),
      signature_(signature),
      notices_(std::max<std::size_t>(1, notices_max) * sizeof(Notice)) {
  MUSUBI_CHECK(!policies_.empty());
  ordering_ = std::make_unique<OrderingOfFirst>(*this);
}
Policies::~Policies() = default;

std::size_t Policies::number_of(BlockId block) const {
  const std::size_t number = space_.segment_of(block).policy;
  MUSUBI_CHECK(number < policies_.size(), "block %lu has policy %zu of %zu",
               static_cast<unsigned long>(block.value), number, policies_.size());
  return number;
}

bool Policies::has_blocks_in(std::size_t policy, const Scope& scope) const {
  return std::ranges::any_of(space_.segments(), [&](const vm::Segment& segment) {
    return segment.policy == policy && scope.overlaps({segment.first_block, segment.blocks});
  });
}

Task<bool> Policies::fault(BlockId block, vm::Access wanted) {
  return of(block).fault(block, wanted);
}
Task<> Policies::overwrite(vm::BlockRun run) {
  return of(run.first).overwrite(run);
}
Task<bool> Policies::open_for_stores(BlockId block) {
  return of(block).open_for_stores(block);
}
Task<> Policies::written(vm::BlockRun run) {
  return of(run.first).written(run);
}
Task<> Policies::take_home(vm::BlockRun run) {
  return of(run.first).take_home(run);
}
Task<> Policies::set_home(vm::BlockRun run, Rank home) {
  return of(run.first).set_home(run, home);
}
void Policies::set_store_bound(const StoreBound& bound) noexcept {
  for (const auto& policy : policies_) policy->set_store_bound(bound);
}

Task<> Policies::release(Scope scope, bool quiescent) {
  for (std::size_t i = 0; i < policies_.size(); ++i) {
    if (has_blocks_in(i, scope)) co_await policies_[i]->release(scope, quiescent);
  }
}
bool Policies::release_at_once(bool quiescent) {
  return std::ranges::all_of(policies_,
                             [quiescent](const auto& policy) { return policy->release_at_once(quiescent); });
}

// Each policy gets the notices of its own blocks, and the minimum.
Task<> Policies::acquire(SignatureView signature, Audience audience, Scope scope) {
  BufferPool::Buffer buffer(notices_);
  auto* const own = reinterpret_cast<Notice*>(buffer.data());
  for (std::size_t i = 0; i < policies_.size(); ++i) {
    std::size_t count = 0;
    for (const Notice& notice : signature.notices) {
      if (number_of(notice.block) == i) own[count++] = notice;
    }
    co_await policies_[i]->acquire({signature.minimum, {own, count}}, audience, scope);
  }
}

bool Policies::binds_to_locks() const noexcept {
  return std::ranges::any_of(policies_, [](const auto& policy) { return policy->binds_to_locks(); });
}
Task<> Policies::retake(LockId lock) {
  for (const auto& policy : policies_) {
    if (policy->binds_to_locks()) co_await policy->retake(lock);
  }
}

std::uint64_t Policies::signature(SignatureSink& sink) {
  return signature_.read([&sink](SignatureView view) { sink.take(view); });
}

LogicalTime Policies::clock() const {
  LogicalTime latest{};
  for (const auto& policy : policies_) latest = later(latest, policy->clock());
  return latest;
}
Task<> Policies::acquire_clock(LogicalTime time) {
  for (const auto& policy : policies_) co_await policy->acquire_clock(time);
}

Task<> Policies::modify(BlockId block, Modification& modification) {
  return of(block).modify(block, modification);
}
bool Policies::modify_at_once(BlockId block, Modification& modification) {
  return of(block).modify_at_once(block, modification);
}
void Policies::pin(BlockId first, std::uint64_t count) {
  of(first).pin(first, count);
}
// A range that is no longer in use has no address.
void Policies::note_stack(std::size_t range, std::uintptr_t low, std::uintptr_t high) {
  const std::optional<BlockId> block = space_.block_at(low);
  if (block) return of(*block).note_stack(range, low, high);
  for (const auto& policy : policies_) policy->note_stack(range, low, high);
}
void Policies::adopt(BlockId first, std::uint64_t count) {
  of(first).adopt(first, count);
}
Ordering& Policies::ordering() {
  return *ordering_;
}

}  // namespace musubi::coherence
