#include "runtime/job/job_policies.h"

#include <algorithm>
#include <utility>

#include "base/event.h"
#include "coherence/factory/make_policy.h"
#include "coherence/no_ordering.h"
#include "runtime/job/job_fabric.h"
#include "runtime/job/recording.h"
#include "runtime/job/verification.h"
#include "vm/space.h"
#include "vm/vm.h"

namespace musubi::runtime {
namespace {

// Replaces the protocol if all ranks map one memory, or there is one rank: the processors keep it coherent.
// Segments are open from the start, except stacks, which their owner opens; no data is ever compared.
class NoProtocol final : public coherence::Protocol {
 public:
  NoProtocol(const vm::Space& space, vm::Vm& vm) : space_(space), vm_(vm) {}

  // All memory that a program may touch is open.
  Task<bool> fault(BlockId, vm::Access) override { co_return false; }
  Task<> release(coherence::Scope, bool) override { co_return; }
  bool release_at_once(bool) override { return true; }
  Task<> acquire(coherence::SignatureView, coherence::Audience, coherence::Scope) override { co_return; }
  bool acquire_at_once(coherence::SignatureView, coherence::Audience) override { return true; }
  std::uint64_t signature(coherence::SignatureSink& sink) override {
    sink.take({});
    return 0;
  }
  void forget(std::uint64_t) override {}
  LogicalTime clock() const override { return {}; }
  Task<> acquire_clock(LogicalTime) override { co_return; }
  Task<> modify(BlockId block, coherence::Modification& modification) override {
    auto pass = co_await gate_.enter();
    modification.apply(reinterpret_cast<std::byte*>(space_.extent(block).address));
  }
  // One instruction, because threads of the program may operate on the same word at the same time.
  bool modify_at_once(BlockId block, coherence::Modification& modification) override {
    const AtomicOperation* const operation = modification.operation;
    if (operation == nullptr || !is_one_instruction(*operation, modification.offset)) return false;
    auto* const bytes = reinterpret_cast<std::byte*>(space_.extent(block).address);
    modification.found(modify_in_place(bytes + modification.offset, *operation));
    return true;
  }
  void pin(BlockId first, std::uint64_t count) override { vm_.leave_open({first, count}); }
  void note_stack(std::size_t, std::uintptr_t, std::uintptr_t) override {}
  void adopt(BlockId, std::uint64_t) override {}
  coherence::Ordering& ordering() override { return ordering_; }

 private:
  const vm::Space& space_;
  vm::Vm& vm_;
  Gate gate_;
  coherence::NoOrdering ordering_{*this};
};

coherence::Parameters parameters_from(const JobContext& job) {
  const config::Settings& settings = job.settings;
  coherence::Parameters parameters;
  parameters.lease_ticks = settings.lease_ticks;
  parameters.signature_notices_max = job.notices_max;
  parameters.release_window = settings.release_window;
  parameters.downgrade_after_releases = static_cast<std::uint32_t>(settings.downgrade_after_releases);
  parameters.read_retries_max = static_cast<std::uint32_t>(settings.read_retries_max);
  parameters.leave_unpublished = settings.leave_unpublished;
  parameters.cached_bytes = settings.cached_bytes;
  parameters.give_back_after_releases = static_cast<std::uint32_t>(settings.give_back_after_releases);
  parameters.run_bytes_max = settings.run_bytes_max;
  parameters.far_run_bytes_max = far_run_bytes_max(job);
  parameters.fetches_ahead_max = static_cast<std::uint32_t>(settings.fetches_ahead_max);
  parameters.lease_probe_releases = static_cast<std::uint32_t>(settings.lease_probe_releases);
  parameters.report_races = settings.report_races;
  if (records_accesses(job)) parameters.first_changes_share = 0;
  return parameters;
}

}  // namespace

Result<void> JobPolicies::open(const coherence::PrivateParts& private_parts) {
  devices_.fabric().listen(fabric::MessageKind::lock_granted, &grants_);
  if (!job_.one_memory) {
    protocol_ = of_ranks(private_parts);
    return {};
  }
  protocol_ = std::make_unique<NoProtocol>(job_.plan.space, devices_.vm());
  // Stacks are opened one at a time, above their guards.
  return devices_.leave_open(job_.plan.heap_segment);
}

void JobPolicies::on_overflow() noexcept {
  job_.abort(1,
             "the program's changes under locks, or between two barriers, to memory of the policy entry have "
             "more separate pieces than this rank can list: raise entry_list_bytes (--set), or give the "
             "elements of the data");
}

// Segments added later may have any policy.
std::size_t JobPolicies::policies_in_use() const {
  if (job_.plan.added_bytes != 0) return coherence::policy_list.size();
  const auto segments = job_.plan.space.segments();
  return std::size_t{std::ranges::max(segments, {}, &vm::Segment::policy).policy} + 1;
}

std::unique_ptr<coherence::Protocol> JobPolicies::of_ranks(const coherence::PrivateParts& private_parts) {
  const vm::Space& space = job_.plan.space;
  MemoryFiles& files = devices_.files();
  coherence::Signature& signature =
      signature_.emplace(files.control() + job_.control.signature, job_.notices_max);
  const coherence::RankMemory memory{devices_.vm().system_view(),
                                     files.published(),
                                     files.words(),
                                     files.entries(),
                                     &signature,
                                     &files,
                                     &races_};
  const coherence::Parameters parameters = parameters_from(job_);
  const coherence::EntryMemory entry_memory{job_.entry_sizes, files.updates(),
                                            number_of(coherence::Policy::entry), this,
                                            job_.settings.entry_unused_barriers};
  coherence::MadeProtocol made = coherence::make_policies(
      policies_in_use(), {space, devices_.fabric(), devices_.block_vm(), job_.counters, grants_, memory,
                          parameters, &private_parts, entry_memory});
  page_managers_ = made.page_managers;
  vm::VerifyingVm* const vm = devices_.verifying_vm();
  if (vm != nullptr && !records_accesses(job_)) return verified(std::move(made.protocol), *vm);
  return std::move(made.protocol);
}

}  // namespace musubi::runtime
