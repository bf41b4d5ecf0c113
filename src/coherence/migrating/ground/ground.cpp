#include "coherence/migrating/ground/ground.h"

#include <cstddef>

#include "base/check.h"
#include "coherence/migrating/for_others/home_changes.h"
#include "coherence/migrating/for_others/home_operations.h"
#include "coherence/migrating/for_others/overwriters.h"
#include "coherence/migrating/for_others/reads.h"
#include "coherence/regions.h"
#include "coherence/rules/relays.h"

namespace musubi::coherence::migrating {

Ground::Ground(const vm::Space& its_space, fabric::Fabric& its_fabric, vm::Vm& its_vm,
               trace::Counters& its_counters, remote_lock::Grants& grants, const RankMemory& memory,
               const Parameters& its_parameters, const PrivateParts* private_parts)
    : space(its_space),
      fabric(its_fabric),
      vm(its_vm),
      counters(its_counters),
      parameters(its_parameters),
      store(space, memory, parameters, private_parts, counters),
      locks(fabric, grants,
            {words_region, offsetof(BlockWords, owner), sizeof(BlockWords), tail_from_owner,
             reinterpret_cast<std::byte*>(memory.words)},
            remote_lock::LockKey::of_block, parameters.hooks),
      signature(*memory.signature),
      comparison_cost(parameters.cached_bytes),
      dirty(space.blocks_max()),
      sleepers(space.blocks_max()),
      residents(space.blocks_max()),
      visits(reinterpret_cast<std::byte*>(memory.words), VisitLayout(space.blocks_max()), parameters.hooks),
      home_side{
          fabric.self(),    visits.layout(), rules::relay_places(fabric.ranks(), parameters.relay_places),
          parameters.hooks, &parameters,     &store} {
  fabric.offer(look_procedure, {&look_at_home, &home_side});
  fabric.offer(operation_procedure, {&operate_at_home, &home_side});
  fabric.offer(merge_procedure, {&merge_changes_at_home, &home_side});
  fabric.offer(copy_procedure, {&give_copy, &home_side});
  fabric.offer(overwrite_procedure, {&make_twin_for_overwriter, &home_side});
}

void Ground::check(const Block& b) const {
  const char* const broken = rules::broken_at_gate({b.entry, b.words, is_home(b), times.expired()});
  MUSUBI_CHECK(broken == nullptr, "block %lu breaks %s", static_cast<unsigned long>(b.id.value), broken);
}

}  // namespace musubi::coherence::migrating
