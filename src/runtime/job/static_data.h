// Makes static data of the program and its libraries part of the shared space.
#pragma once

#include <span>
#include <vector>

#include "coherence/core/private_parts.h"
#include "coherence/protocol.h"
#include "runtime/api/memory.h"
#include "runtime/job/job_context.h"
#include "vm/paged/paged_vm.h"

namespace musubi::runtime {

class StaticData {
 public:
  // `globals` and `private_bytes` are those of the program at the start.
  StaticData(const JobContext& job, std::span<const SharedRange> globals,
             std::span<const PrivateBytes> private_bytes);

  // The bytes that the protocol leaves private. Complete, for the globals, from open() on.
  const coherence::PrivateParts& private_parts() const noexcept { return private_parts_; }

  // Call before the protocol is made. `vm` outlives this object.
  void open(vm::PagedVm& vm);
  // As Memory::share_globals, without the final barrier, in a job of several ranks.
  void share_globals(coherence::Protocol& protocol);
  // As Memory::share_library.
  void share_library(std::span<const SharedRange> ranges, std::span<const PrivateBytes> private_bytes,
                     bool own_bytes_win);

 private:
  // Makes the range part of the shared space: zero, except for private bytes and data already in the system
  // view.
  void share_range(const SharedRange& range, std::span<const PrivateBytes> private_bytes);
  void add_private_parts(std::span<const PrivateBytes> private_bytes);

  const JobContext& job_;
  const std::vector<SharedRange> globals_;
  const std::vector<PrivateBytes> private_bytes_;
  coherence::PrivateParts private_parts_;
  vm::PagedVm* vm_ = nullptr;
};

}  // namespace musubi::runtime
