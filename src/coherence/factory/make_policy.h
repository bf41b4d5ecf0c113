// Constructs the coherence policies of one rank, in jobs and in the simulator.
#pragma once

#include <cstddef>
#include <memory>

#include "coherence/core/parameters.h"
#include "coherence/core/private_parts.h"
#include "coherence/entry/entry_consistency.h"
#include "coherence/migrating/migrating.h"
#include "coherence/policy.h"
#include "coherence/protocol.h"
#include "coherence/store/rank_memory.h"
#include "fabric/fabric.h"
#include "remote_lock/queue_lock.h"
#include "vm/space.h"
#include "vm/vm.h"

namespace musubi::coherence {

// The arguments of a policy. All objects outlive it.
struct PolicyArguments {
  const vm::Space& space;
  fabric::Fabric& fabric;
  vm::Vm& vm;
  trace::Counters& counters;
  remote_lock::Grants& grants;
  RankMemory memory;
  const Parameters& parameters;
  const PrivateParts* private_parts;
  EntryMemory entry_memory;
};

struct MadeProtocol {
  std::unique_ptr<Protocol> protocol;
  const Migrating* migrating = nullptr;   // in `protocol`; null: not among its policies
  PageManagers* page_managers = nullptr;  // of the policy entry in `protocol`; null: as above
};

MadeProtocol make_policy(Policy policy, const PolicyArguments& arguments);

// The policies 0 to `count` - 1, each for the segments with its number.
MadeProtocol make_policies(std::size_t count, const PolicyArguments& arguments);

}  // namespace musubi::coherence
