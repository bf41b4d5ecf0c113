// The coherence protocol of a rank: the policy of each segment, by the settings.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/result.h"
#include "coherence/core/private_parts.h"
#include "coherence/core/race_log.h"
#include "coherence/core/signature.h"
#include "coherence/entry/entry_consistency.h"
#include "coherence/protocol.h"
#include "remote_lock/queue_lock.h"
#include "runtime/job/job_context.h"
#include "runtime/job/job_devices.h"

namespace musubi::runtime {

class JobPolicies final : private coherence::entry::Overflow {
 public:
  JobPolicies(JobContext& job, JobDevices& devices) : job_(job), devices_(devices) {}

  // Call after the devices are open; `private_parts` outlives this object. Errors: refused by the kernel.
  Result<void> open(const coherence::PrivateParts& private_parts);

  // REQUIRES for the following: open() has been called.
  coherence::Protocol& protocol() { return *protocol_; }
  // Of blocks and user locks.
  remote_lock::Grants& grants() { return grants_; }
  // The races that this rank found, under all policies.
  const coherence::RaceLog& races() const { return races_; }
  // Null: no segment can have the policy `entry`.
  coherence::PageManagers* page_managers() { return page_managers_; }

 private:
  std::unique_ptr<coherence::Protocol> of_ranks(const coherence::PrivateParts& private_parts);
  void on_overflow() noexcept override;
  std::size_t policies_in_use() const;

  JobContext& job_;
  JobDevices& devices_;
  remote_lock::Grants grants_;
  std::optional<coherence::Signature> signature_;
  coherence::RaceLog races_;
  std::unique_ptr<coherence::Protocol> protocol_;
  coherence::PageManagers* page_managers_ = nullptr;  // in protocol_
};

}  // namespace musubi::runtime
