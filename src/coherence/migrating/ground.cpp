#include "coherence/migrating/ground.h"

#include <cstddef>

#include "coherence/migrating/copy_requests.h"
#include "coherence/migrating/home_changes.h"
#include "coherence/migrating/home_operations.h"
#include "coherence/regions.h"
#include "coherence/rules/relays.h"
#include "fabric/nearness.h"

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
      operators(fabric, visits.layout(), parameters.hooks),
      home_side{visits.layout(),  rules::relay_places(fabric.ranks(), parameters.relay_places),
                parameters.hooks, &parameters,
                &store,           !fabric::all_are_near(fabric),
                &operators} {
  fabric.offer(look_procedure, {&look_at_home, &home_side});
  fabric.offer(operation_procedure, {&operate_at_home, &home_side});
  fabric.offer(merge_procedure, {&merge_changes_at_home, &home_side});
  fabric.offer(copy_procedure, {&give_copy, &home_side});
}

Task<bool> Ground::lock_if_home(const Block& b) {
  const bool at_home = co_await locks.lock_if_home(b.id.value, b.initial_home);
  if (at_home) co_await end_operations(b);
  co_return at_home;
}

// The lock came first: who is announced from now on finds it taken.
Task<> Ground::end_operations(const Block& b) {
  if (!is_operated(b)) co_return;
  co_await await_operations(b);
  shared(b.words.stillness).fetch_and(~BlockWords::operated);
}

Task<> Ground::await_operations(const Block& b) const {
  if (is_operated(b) && !injected(InjectedBug::operated_beside_lock)) co_await operators.end_at(b.id);
}

}  // namespace musubi::coherence::migrating
