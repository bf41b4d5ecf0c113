// The coherence policies of one rank's segments. Each block belongs to the policy that its segment names; the
// signatures of locks and barriers name blocks of all of them. A job whose segments all have one policy uses
// that one itself.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/buffer_pool.h"
#include "coherence/core/signature.h"
#include "coherence/protocol.h"
#include "vm/space.h"

namespace musubi::coherence {

class Policies final : public Protocol {
 public:
  // `policies[i]` has the segments with Segment::policy i. All share `signature`, which outlives this. The
  // first policy orders plain flags; the blocks of other policies open whether or not order is kept.
  // `notices_max`: of a signature.
  Policies(const vm::Space& space, std::vector<std::unique_ptr<Protocol>> policies, Signature& signature,
           std::size_t notices_max);
  ~Policies() override;

  Task<bool> fault(BlockId block, vm::Access wanted) override;
  Task<> overwrite(vm::BlockRun run) override;
  Task<bool> open_for_stores(BlockId block) override;
  Task<> written(vm::BlockRun run) override;
  Task<> take_home(vm::BlockRun run) override;
  Task<> set_home(vm::BlockRun run, Rank home) override;
  void set_store_bound(const StoreBound& bound) noexcept override;
  Task<> release(Scope scope, bool quiescent) override;
  bool release_at_once(bool quiescent) override;
  Task<> acquire(SignatureView signature, Audience audience, Scope scope) override;
  bool binds_to_locks() const noexcept override;
  Task<> retake(LockId lock) override;
  std::uint64_t signature(SignatureSink& sink) override;
  void forget(std::uint64_t mark) override { signature_.forget(mark); }
  LogicalTime clock() const override;
  Task<> acquire_clock(LogicalTime time) override;
  Task<> modify(BlockId block, Modification& modification) override;
  bool modify_at_once(BlockId block, Modification& modification) override;
  void pin(BlockId first, std::uint64_t count) override;
  void note_stack(std::size_t range, std::uintptr_t low, std::uintptr_t high) override;
  void adopt(BlockId first, std::uint64_t count) override;
  Ordering& ordering() override;
  Room* room() noexcept override { return policies_.front()->room(); }

 private:
  class OrderingOfFirst;
  std::size_t number_of(BlockId block) const;
  Protocol& of(BlockId block) const { return *policies_[number_of(block)]; }
  bool has_blocks_in(std::size_t policy, const Scope& scope) const;

  const vm::Space& space_;
  std::vector<std::unique_ptr<Protocol>> policies_;
  Signature& signature_;
  BufferPool notices_;  // sorted by policy for one acquire
  std::unique_ptr<OrderingOfFirst> ordering_;
};

}  // namespace musubi::coherence
