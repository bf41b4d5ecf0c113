// Which coherence protocol a simulated job runs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "coherence/policy.h"

namespace musubi::sim {

// The policies of real jobs; `mixed`, which gives the segments the first two alternately; and policies for
// comparison (docs/decisions/policies.md).
enum class Policy : std::uint8_t {
#define MUSUBI_POLICY(number, name, c_name, use, kind) name,
#include "coherence/policies.def"
#undef MUSUBI_POLICY
  mixed,
  directory,
  notices,
  timestamps,
  count
};

inline constexpr std::array<std::string_view, static_cast<std::size_t>(Policy::count)> policy_names{
#define MUSUBI_POLICY(number, name, c_name, use, kind) #name,
#include "coherence/policies.def"
#undef MUSUBI_POLICY
    "mixed", "directory", "notices", "timestamps"};

constexpr std::string_view name_of(Policy policy) {
  return policy < Policy::count ? policy_names[static_cast<std::size_t>(policy)] : "unknown";
}

// How many policies of the list `mixed` has.
inline constexpr std::size_t mixed_policies = 2;

// Made for one thread per rank, which no other thread interrupts between two steps.
constexpr bool is_for_comparison(Policy policy) {
  return policy == Policy::directory || policy == Policy::notices || policy == Policy::timestamps;
}

// The kind of a policy of real jobs; none for those of the simulator.
constexpr std::optional<coherence::PolicyKind> kind_of(Policy policy) {
  const auto number = static_cast<std::size_t>(policy);
  return number < coherence::policy_count ? std::optional(coherence::policy_list[number].kind) : std::nullopt;
}

// Programs hand data over by locks and barriers alone.
constexpr bool orders_by_locks_alone(Policy policy) {
  return kind_of(policy) == coherence::PolicyKind::data_of_locks;
}

}  // namespace musubi::sim
