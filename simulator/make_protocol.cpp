#include "simulator/make_protocol.h"

#include "simulator/policies/directory.h"
#include "simulator/policies/notices.h"
#include "simulator/policies/timestamps.h"

namespace musubi::sim {
namespace {

template <class Made>
coherence::MadeProtocol make(const coherence::PolicyArguments& a) {
  return {std::make_unique<Made>(a.space, a.fabric, a.vm, a.counters, a.grants, a.memory, a.parameters,
                                 a.private_parts)};
}

}  // namespace

coherence::MadeProtocol make_protocol(Policy policy, const coherence::PolicyArguments& arguments) {
  switch (policy) {
    case Policy::mixed:
      return coherence::make_policies(mixed_policies, arguments);
    case Policy::directory:
      return make<coherence::Directory>(arguments);
    case Policy::notices:
      return make<coherence::Notices>(arguments);
    case Policy::timestamps:
      return make<coherence::Timestamps>(arguments);
    default:
      return coherence::make_policy(static_cast<coherence::Policy>(policy), arguments);
  }
}

}  // namespace musubi::sim
