#include "runtime/job/verification.h"

#include <algorithm>
#include <span>
#include <utility>

#include "checks/abi.h"
#include "runtime/threads/deferred_handlers.h"
#include "vm/signal/crash_report.h"

namespace musubi::runtime {
namespace {

// A release or an acquire by the service for another rank comes at any time, maybe between a check and its
// access; that of the program's thread comes where the compiler expects it.
bool is_of_program() noexcept {
  return DeferredHandlers::is_inside();
}

class VerifiedProtocol final : public coherence::Protocol {
 public:
  VerifiedProtocol(std::unique_ptr<coherence::Protocol> protocol, vm::VerifyingVm& vm)
      : protocol_(std::move(protocol)), vm_(vm) {}

  Task<> release(coherence::Scope scope, bool quiescent) override {
    return then_hide(protocol_->release(scope, quiescent));
  }
  bool release_at_once(bool quiescent) override { return then_hide(protocol_->release_at_once(quiescent)); }
  Task<> acquire(coherence::SignatureView signature, coherence::Audience audience,
                 coherence::Scope scope) override {
    return then_hide(protocol_->acquire(signature, audience, scope));
  }
  bool acquire_at_once(coherence::SignatureView signature, coherence::Audience audience) override {
    return then_hide(protocol_->acquire_at_once(signature, audience));
  }
  Task<> acquire_clock(LogicalTime time) override { return then_hide(protocol_->acquire_clock(time)); }

  Task<bool> fault(BlockId block, vm::Access wanted) override { return protocol_->fault(block, wanted); }
  Task<> overwrite(vm::BlockRun run) override { return protocol_->overwrite(run); }
  Task<> written(vm::BlockRun run) override { return protocol_->written(run); }
  void set_store_bound(const StoreBound& bound) noexcept override { protocol_->set_store_bound(bound); }
  bool binds_to_locks() const noexcept override { return protocol_->binds_to_locks(); }
  Task<> retake(LockId lock) override { return protocol_->retake(lock); }
  std::uint64_t signature(coherence::SignatureSink& sink) override { return protocol_->signature(sink); }
  void forget(std::uint64_t mark) override { protocol_->forget(mark); }
  LogicalTime clock() const override { return protocol_->clock(); }
  Task<> modify(BlockId block, coherence::Modification& modification) override {
    return protocol_->modify(block, modification);
  }
  bool modify_at_once(BlockId block, coherence::Modification& modification) override {
    return protocol_->modify_at_once(block, modification);
  }
  void pin(BlockId first, std::uint64_t count) override { protocol_->pin(first, count); }
  void note_stack(std::size_t range, std::uintptr_t low, std::uintptr_t high) override {
    protocol_->note_stack(range, low, high);
  }
  coherence::Ordering& ordering() override { return protocol_->ordering(); }
  coherence::Room* room() noexcept override { return protocol_->room(); }
  void adopt(BlockId first, std::uint64_t count) override { protocol_->adopt(first, count); }

 private:
  // The task may end on another thread than it has begun on.
  Task<> then_hide(Task<> synchronisation) {
    const bool hides = is_of_program();
    co_await std::move(synchronisation);
    if (hides) vm_.synchronised();
  }
  bool then_hide(bool done) {
    if (done && is_of_program()) vm_.synchronised();
    return done;
  }

  const std::unique_ptr<coherence::Protocol> protocol_;
  vm::VerifyingVm& vm_;
};

}  // namespace

bool Verification::promises(const vm::Fault& fault) const noexcept {
  const auto after = std::ranges::upper_bound(code_, fault.program_counter, {}, &checks::CheckedCode::begin);
  if (after == code_.begin() || fault.program_counter >= (after - 1)->end) return false;
  const std::uint32_t mode = (after - 1)->mode;
  return mode == MUSUBI_CHECKS_UDSM || (mode == MUSUBI_CHECKS_ADSM && fault.wanted == vm::Access::write);
}

bool Verification::is_missed(const vm::Fault& fault) const noexcept {
  return !vm_.may_be_checked(fault.block, fault.wanted) && promises(fault) &&
         vm::is_compiled_function(fault.program_counter);
}

bool Verification::resolves(const vm::Fault& fault, bool siblings) noexcept {
  const DeferredHandlers handlers;
  if (recording_) {
    const bool is_new = recording_->show({fault.address, 1}, fault.wanted);
    if (is_new) recording_->note_fault(fault.address, fault.wanted);
    return is_new;
  }
  if (!siblings && is_missed(fault)) report(fault);
  return vm_.reveal({fault.address, 1}, fault.wanted);
}

void Verification::report(const vm::Fault& fault) const noexcept {
  vm::CrashText text;
  text << (fault.wanted == vm::Access::write ? "a store" : "a load") << " that no check came before, in ";
  vm::append_code_location(text, fault.program_counter);
  text << ", to ";
  vm::append_variable(text, fault.address);
  if (job_.bootstrap->tells_crashes()) {
    vm::CrashText line;
    (line << "musubi: rank ").decimal(job_.self.value) << ": checks=verify has found:";
    job_.bootstrap->tell_crash(line.gathered());
    job_.bootstrap->tell_frames(std::span(&fault.program_counter, 1));
  }
  job_.abort(1, text.gathered());
}

std::unique_ptr<coherence::Protocol> verified(std::unique_ptr<coherence::Protocol> protocol,
                                              vm::VerifyingVm& vm) {
  return std::make_unique<VerifiedProtocol>(std::move(protocol), vm);
}

}  // namespace musubi::runtime
