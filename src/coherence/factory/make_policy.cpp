#include "coherence/factory/make_policy.h"

#include <utility>
#include <vector>

#include "base/check.h"
#include "coherence/home_based/home_based.h"
#include "coherence/policies.h"

namespace musubi::coherence {
namespace {

template <class Made, class Last>
std::unique_ptr<Made> make(const PolicyArguments& a, const Last& last) {
  return std::make_unique<Made>(a.space, a.fabric, a.vm, a.counters, a.grants, a.memory, a.parameters, last);
}

}  // namespace

MadeProtocol make_policy(Policy policy, const PolicyArguments& arguments) {
  switch (policy) {
    case Policy::migrating: {
      auto made = make<Migrating>(arguments, arguments.private_parts);
      const Migrating* const migrating = made.get();
      return {std::move(made), migrating, nullptr};
    }
    case Policy::home_based:
      return {make<HomeBased>(arguments, arguments.private_parts)};
    case Policy::entry: {
      auto made = make<EntryConsistency>(arguments, arguments.entry_memory);
      PageManagers* const page_managers = made.get();
      return {std::move(made), nullptr, page_managers};
    }
  }
  MUSUBI_CHECK(false, "no policy has number %u", unsigned{number_of(policy)});
  return {};
}

MadeProtocol make_policies(std::size_t count, const PolicyArguments& arguments) {
  MUSUBI_CHECK(count != 0 && count <= policy_list.size(), "%zu of %zu policies", count, policy_list.size());
  if (count == 1) return make_policy(policy_list.front().policy, arguments);
  MadeProtocol all;
  std::vector<std::unique_ptr<Protocol>> policies;
  for (std::size_t i = 0; i < count; ++i) {
    MadeProtocol made = make_policy(policy_list[i].policy, arguments);
    policies.push_back(std::move(made.protocol));
    if (made.migrating != nullptr) all.migrating = made.migrating;
    if (made.page_managers != nullptr) all.page_managers = made.page_managers;
  }
  all.protocol = std::make_unique<Policies>(arguments.space, std::move(policies), *arguments.memory.signature,
                                            arguments.parameters.signature_notices_max);
  return all;
}

}  // namespace musubi::coherence
