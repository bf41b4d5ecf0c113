// The names and numbers of the coherence policies, from policies.def.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace musubi::coherence {

enum class Policy : std::uint8_t {
#define MUSUBI_POLICY(number, name, c_name, use, kind) name = number,
#include "coherence/policies.def"
#undef MUSUBI_POLICY
};

enum class PolicyUse : std::uint8_t { heap, segments };

enum class PolicyKind : std::uint8_t {
  moving_homes,   // rules/invariants.h, and one home at the end of each chain of links
  fixed_homes,    // rules/home_words.h: the initial home of a block keeps it
  data_of_locks,  // programs hand data over by locks and barriers alone; only values are checked
};

struct PolicyDeclaration {
  Policy policy;
  std::string_view name;
  std::string_view c_name;
  PolicyUse use;
  PolicyKind kind;
};

inline constexpr std::size_t policy_count = 0
#define MUSUBI_POLICY(...) +1
#include "coherence/policies.def"
#undef MUSUBI_POLICY
    ;

// policy_list[i] has number i.
inline constexpr std::array<PolicyDeclaration, policy_count> policy_list{
#define MUSUBI_POLICY(number, name, c_name, use, kind) \
  PolicyDeclaration{Policy::name, #name, #c_name, PolicyUse::use, PolicyKind::kind},
#include "coherence/policies.def"
#undef MUSUBI_POLICY
};

// As in Segment::policy.
constexpr std::uint8_t number_of(Policy policy) {
  return static_cast<std::uint8_t>(policy);
}
static_assert([] {
  std::size_t next = 0;
  return std::ranges::all_of(policy_list, [&](const auto& each) { return number_of(each.policy) == next++; });
}());

constexpr std::optional<Policy> policy_named(std::string_view name) {
  const auto* const found = std::ranges::find(policy_list, name, &PolicyDeclaration::name);
  return found == policy_list.end() ? std::nullopt : std::optional(found->policy);
}

}  // namespace musubi::coherence
