// Setting checks=verify: an access of checked code that no check came before ends the job.
#pragma once

#include <memory>
#include <vector>

#include "base/address_range.h"
#include "checks/notes.h"
#include "coherence/protocol.h"
#include "runtime/job/job_context.h"
#include "vm/checked/verifying_vm.h"
#include "vm/vm.h"

namespace musubi::runtime {

class Verification {
 public:
  Verification(JobContext& job, vm::VerifyingVm& vm) : job_(job), vm_(vm), code_(checks::checked_code()) {}

  // A fault of the program. Ends the job if the code promises to check such an access, has not, and its
  // thread is the only one of the rank: another thread may have synchronised after the check. Result: true
  // if the access may be retried. Inside a signal handler.
  bool resolves(const vm::Fault& fault, bool siblings) noexcept;
  // A check of the program: opens blocks that only the verification has closed.
  void before_check(AddressRange range, vm::Access wanted) noexcept { vm_.reveal(range, wanted); }

 private:
  bool is_missed(const vm::Fault& fault) const noexcept;
  bool promises(const vm::Fault& fault) const noexcept;
  [[noreturn]] void report(const vm::Fault& fault) const noexcept;

  JobContext& job_;
  vm::VerifyingVm& vm_;
  const std::vector<checks::CheckedCode> code_;
};

// `protocol`, after whose acquires and releases by the program's thread `vm` hides all open blocks.
std::unique_ptr<coherence::Protocol> verified(std::unique_ptr<coherence::Protocol> protocol,
                                              vm::VerifyingVm& vm);

}  // namespace musubi::runtime
