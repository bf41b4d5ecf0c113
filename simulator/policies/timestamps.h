// The policy `timestamps`, for comparison: logical time alone, in the manner of Tardis (Yu and Devadas 2015).
// A reader holds a lease until a logical time that the home remembers. A writer's version is later than all
// leases before it. A rank that acquires moves its own time forward to the releaser's; copies whose lease
// ends before that time must be renewed, changed or not. No rank is notified.
//
// A block that is renewed without a change gets twice as long a lease the next time (Yu, Liu, Zou and Devadas
// 2016).
#pragma once

#include "base/sparse_array.h"
#include "coherence/core/signature.h"
#include "coherence/home_based/fixed_home.h"
#include "simulator/policies/copy_list.h"

namespace musubi::coherence {

class Timestamps final : public FixedHome {
 public:
  static constexpr std::size_t bytes_per_copy = 48;  // the home's two words and the table of copies

  // Of parameters.signature_notices_max at least 1 is needed, and nothing of it used: only the minimum
  // travels.
  Timestamps(const vm::Space& space, fabric::Fabric& fabric, vm::Vm& vm, trace::Counters& counters,
             remote_lock::Grants& grants, const RankMemory& memory, const Parameters& parameters,
             const PrivateParts* private_parts);

  Task<> acquire(SignatureView signature, Audience audience, Scope scope) override;
  std::uint64_t signature(SignatureSink& sink) override;
  void forget(std::uint64_t) override {}
  LogicalTime clock() const override { return LogicalTime{now_}; }
  Task<> acquire_clock(LogicalTime time) override;

 private:
  // Of a copy at this rank.
  struct Copy {
    std::uint64_t lease_end;
    std::uint64_t version;    // one more than the home's count; 0: never held
    std::uint64_t home_word;  // the home's lease word, seen last
    std::uint8_t doublings;   // of the lease
    bool changed_last;        // the last renewal found a change: the next one brings the bytes at once
  };
  static constexpr std::uint8_t doublings_max = 10;

  Task<bool> bring(Block& b, std::byte* target) override;
  Task<> publish(Block& b, Puts& puts) override;
  void note_copy(Block& b) override { copies_here_.add(b); }
  void publish_at_home(Block& b);
  void advance(std::uint64_t time);

  Signature& signature_;
  CopyList copies_here_;
  SparseArray<Copy> copies_;
  std::uint64_t now_ = 0;  // every copy whose lease ended before this is gone at the end of an acquire
};

}  // namespace musubi::coherence
