// The policy `migrating` (coherence.md sections 1 to 9, paper TS): multiple writers, the home follows the
// writer, no directory, no invalidation messages.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "coherence/core/block_words.h"
#include "coherence/core/entry.h"
#include "coherence/core/parameters.h"
#include "coherence/protocol.h"
#include "coherence/regions.h"
#include "coherence/room.h"
#include "coherence/store/rank_memory.h"
#include "fabric/fabric.h"
#include "remote_lock/queue_lock.h"
#include "trace/counters.h"
#include "vm/space.h"
#include "vm/vm.h"

namespace musubi::coherence {

class PrivateParts;

class Migrating final : public Protocol {
 public:
  // `grants` is the rank's listener for MessageKind::lock_granted, shared with the user locks.
  // `private_parts` may be null.
  Migrating(const vm::Space& space, fabric::Fabric& fabric, vm::Vm& vm, trace::Counters& counters,
            remote_lock::Grants& grants, const RankMemory& memory, const Parameters& parameters,
            const PrivateParts* private_parts);
  ~Migrating() override;

  Task<bool> fault(BlockId block, vm::Access wanted) override;
  Task<> overwrite(vm::BlockRun run) override;
  void set_store_bound(const StoreBound& bound) noexcept override;
  Task<> release(Scope scope, bool quiescent) override;
  bool release_at_once(bool quiescent) override;
  Task<> acquire(SignatureView signature, Audience audience, Scope scope) override;
  bool acquire_at_once(SignatureView signature, Audience audience) override;
  std::uint64_t signature(SignatureSink& sink) override;
  void forget(std::uint64_t mark) override;
  LogicalTime clock() const override;
  Task<> acquire_clock(LogicalTime time) override;
  Task<> modify(BlockId block, Modification& modification) override;
  bool modify_at_once(BlockId block, Modification& modification) override;
  void pin(BlockId first, std::uint64_t count) override;
  void note_stack(std::size_t range, std::uintptr_t low, std::uintptr_t high) override;
  void adopt(BlockId first, std::uint64_t count) override;
  Ordering& ordering() override;
  Room* room() noexcept override;

  // For checkers and tests.
  const Entry& entry(BlockId block) const;
  LogicalTime acquired() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace musubi::coherence
