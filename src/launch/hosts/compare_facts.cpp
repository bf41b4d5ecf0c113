#include "launch/hosts/compare_facts.h"

#include <algorithm>

namespace musubi::launch {
namespace {

const Fact* find(const HostFacts& host, const std::string& subject) {
  const auto found = std::ranges::find(host.facts, subject, &Fact::subject);
  return found == host.facts.end() ? nullptr : &*found;
}

// The first fact is about the program; libraries of another program need not be compared.
bool other_program(const HostFacts& first, const HostFacts& other) {
  if (first.facts.empty()) return false;
  const Fact* const program = find(other, first.facts.front().subject);
  return program == nullptr || program->value != first.facts.front().value;
}

std::string line(const std::string& host, const Fact& fact, const std::string& value,
                 const std::string& first_host, const std::string& first_value) {
  return "host " + host + ": " + fact.subject + " is " + value + ", on " + first_host + " " + first_value +
         "; " + fact.remedy;
}

}  // namespace

std::vector<std::string> differences(const std::vector<HostFacts>& hosts) {
  std::vector<std::string> lines;
  const std::string none = "not there";
  for (std::size_t i = 1; i < hosts.size(); ++i) {
    for (const Fact& fact : hosts[0].facts) {
      const Fact* const other = find(hosts[i], fact.subject);
      const std::string& value = other != nullptr ? other->value : none;
      if (value == fact.value) continue;
      lines.push_back(line(hosts[i].host, fact, value, hosts[0].host, fact.value));
      if (&fact == &hosts[0].facts.front()) break;
    }
    if (other_program(hosts[0], hosts[i])) continue;
    for (const Fact& fact : hosts[i].facts) {
      if (find(hosts[0], fact.subject) == nullptr)
        lines.push_back(line(hosts[i].host, fact, fact.value, hosts[0].host, none));
    }
  }
  return lines;
}

}  // namespace musubi::launch
