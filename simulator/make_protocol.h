// The protocol of one simulated rank.
#pragma once

#include <cstddef>
#include <memory>

#include "coherence/core/parameters.h"
#include "coherence/core/private_parts.h"
#include "coherence/entry/entry_consistency.h"
#include "coherence/migrating/migrating.h"
#include "coherence/protocol.h"
#include "coherence/store/rank_memory.h"
#include "fabric/fabric.h"
#include "remote_lock/queue_lock.h"
#include "simulator/policy.h"
#include "vm/space.h"
#include "vm/vm.h"

namespace musubi::sim {

// What a protocol is made of. All outlives it.
struct ProtocolGround {
  const vm::Space& space;
  fabric::Fabric& fabric;
  vm::Vm& vm;
  trace::Counters& counters;
  remote_lock::Grants& grants;
  coherence::RankMemory memory;
  const coherence::Parameters& parameters;
  const coherence::PrivateParts* private_parts;
  coherence::EntryMemory entry_memory;
};

struct MadeProtocol {
  std::unique_ptr<coherence::Protocol> protocol;
  const coherence::Migrating* migrating;             // in it; null: there is none
  coherence::PageManagers* page_managers = nullptr;  // the same
};

// A directory needs its region of sharers attached.
MadeProtocol make_protocol(Policy policy, const ProtocolGround& ground);

}  // namespace musubi::sim
