// Setting checks=verify: an access of checked code that no check came before ends the job.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/address_range.h"
#include "checks/notes.h"
#include "coherence/protocol.h"
#include "runtime/job/job_context.h"
#include "runtime/job/recording.h"
#include "vm/checked/verifying_vm.h"
#include "vm/vm.h"

namespace musubi::runtime {

class Verification {
 public:
  // With a recording, it is told of all accesses instead. `system_view`: of the rank's blocks.
  Verification(JobContext& job, vm::VerifyingVm& vm, const std::byte* system_view)
      : job_(job), vm_(vm), code_(checks::checked_code()) {
    if (records_accesses(job)) recording_.emplace(job, vm, system_view);
  }

  // A fault of the program. Ends the job if the code promises to check such an access, has not, and its
  // thread is the only one of the rank: another thread may have synchronised after the check. Result: true
  // if the access may be retried. Inside a signal handler.
  bool resolves(const vm::Fault& fault, bool siblings) noexcept;
  // Around a check of the program: opens blocks that only the verification has closed. Result: argument of
  // after_check(), when the protocol has opened the range.
  bool before_check(AddressRange range, vm::Access wanted) noexcept {
    if (recording_) return recording_->show(range, wanted);
    vm_.reveal(range, wanted);
    return false;
  }
  bool records() const noexcept { return recording_.has_value(); }
  void after_check(Touch touch, AddressRange range, bool is_new) noexcept {
    if (!recording_) return;
    is_new = recording_->show(range, access_of(touch)) || is_new;
    if (is_new) recording_->note(touch, range);
  }

 private:
  bool is_missed(const vm::Fault& fault) const noexcept;
  bool promises(const vm::Fault& fault) const noexcept;
  [[noreturn]] void report(const vm::Fault& fault) const noexcept;

  JobContext& job_;
  vm::VerifyingVm& vm_;
  const std::vector<checks::CheckedCode> code_;
  std::optional<Recording> recording_;
};

// `protocol`, after whose acquires and releases by the program's thread `vm` hides all open blocks.
std::unique_ptr<coherence::Protocol> verified(std::unique_ptr<coherence::Protocol> protocol,
                                              vm::VerifyingVm& vm);

}  // namespace musubi::runtime
