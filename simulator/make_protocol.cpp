#include "simulator/make_protocol.h"

#include <utility>
#include <vector>

#include "coherence/home_based/home_based.h"
#include "coherence/policies.h"
#include "simulator/policies/directory.h"
#include "simulator/policies/notices.h"
#include "simulator/policies/timestamps.h"

namespace musubi::sim {
namespace {

template <class Made>
std::unique_ptr<Made> make(const ProtocolGround& g) {
  return std::make_unique<Made>(g.space, g.fabric, g.vm, g.counters, g.grants, g.memory, g.parameters,
                                g.private_parts);
}

MadeProtocol make_entry(const ProtocolGround& g) {
  auto made = std::make_unique<coherence::EntryConsistency>(g.space, g.fabric, g.vm, g.counters, g.grants,
                                                            g.memory, g.parameters, g.entry_memory);
  coherence::PageManagers* const page_managers = made.get();
  return {std::move(made), nullptr, page_managers};
}

}  // namespace

MadeProtocol make_protocol(Policy policy, const ProtocolGround& ground) {
  switch (policy) {
    case Policy::directory:
      return {make<coherence::Directory>(ground), nullptr};
    case Policy::notices:
      return {make<coherence::Notices>(ground), nullptr};
    case Policy::timestamps:
      return {make<coherence::Timestamps>(ground), nullptr};
    case Policy::home_based:
      return {make<coherence::HomeBased>(ground), nullptr};
    case Policy::entry:
      return make_entry(ground);
    default:
      break;
  }
  auto migrating = make<coherence::Migrating>(ground);
  const coherence::Migrating* const seen = migrating.get();
  if (policy == Policy::migrating) return {std::move(migrating), seen};
  std::vector<std::unique_ptr<coherence::Protocol>> policies;
  policies.push_back(std::move(migrating));
  policies.push_back(make<coherence::HomeBased>(ground));
  return {std::make_unique<coherence::Policies>(ground.space, std::move(policies), *ground.memory.signature,
                                                ground.parameters.signature_notices_max),
          seen};
}

}  // namespace musubi::sim
