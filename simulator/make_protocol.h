// The protocol of one simulated rank.
#pragma once

#include "coherence/factory/make_policy.h"
#include "simulator/policy.h"

namespace musubi::sim {

// A directory needs its region of sharers attached.
coherence::MadeProtocol make_protocol(Policy policy, const coherence::PolicyArguments& arguments);

}  // namespace musubi::sim
