// The policy `notices`, for comparison: lazy release consistency with write notices alone. A release adds one
// notice per changed block to those that the rank hands on, an acquire reads all that it receives, and no
// time sums up old ones: none is forgotten until all ranks have it (a barrier).
//
// The versions in the notices count the releases of one block, at its home. A minimum other than 0 says that
// something is not named (a flush without a partner, a signature that was full): every copy goes.
#pragma once

#include "base/sparse_array.h"
#include "coherence/core/signature.h"
#include "coherence/home_based/fixed_home.h"
#include "simulator/policies/copy_list.h"

namespace musubi::coherence {

class Notices final : public FixedHome {
 public:
  static constexpr std::size_t bytes_per_copy = 16;  // the home's version and that of the copy

  // parameters.signature_notices_max should be the number of blocks: one notice per block is enough.
  Notices(const vm::Space& space, fabric::Fabric& fabric, vm::Vm& vm, trace::Counters& counters,
          remote_lock::Grants& grants, const RankMemory& memory, const Parameters& parameters,
          const PrivateParts* private_parts);

  Task<> acquire(SignatureView signature, Audience audience, Scope scope) override;
  std::uint64_t signature(SignatureSink& sink) override;
  void forget(std::uint64_t mark) override { signature_.forget(mark); }
  LogicalTime clock() const override { return {}; }
  Task<> acquire_clock(LogicalTime time) override;

 private:
  Task<bool> bring(Block& b, std::byte* target) override;
  Task<> publish(Block& b, Puts& puts) override;
  void note_copy(Block& b) override { copies_here_.add(b); }
  Task<> apply(Notice notice, std::vector<BlockId>* to_refresh);
  Task<> drop_everything(std::vector<BlockId>* to_refresh);

  Signature& signature_;
  CopyList copies_here_;
  SparseArray<std::uint64_t> versions_;  // of the copies here
};

}  // namespace musubi::coherence
