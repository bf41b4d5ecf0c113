#include "launch/hosts/launcher/refusals.h"

#include <algorithm>

namespace musubi::launch {
namespace {

constexpr std::size_t hosts_named_max = 8;

struct Cause {
  const RefusingHost* first;
  std::vector<std::string> others;
};

// Several proxies of one host may report the same cause.
std::vector<Cause> causes_of(const std::vector<RefusingHost>& refusing) {
  std::vector<Cause> causes;
  for (const RefusingHost& each : refusing) {
    if (each.refusal.cause.empty()) continue;
    const auto same = std::ranges::find(causes, each.refusal.cause,
                                        [](const Cause& cause) { return cause.first->refusal.cause; });
    if (same == causes.end()) {
      causes.push_back({&each, {}});
    } else if (each.host != same->first->host &&
               std::ranges::find(same->others, each.host) == same->others.end()) {
      same->others.push_back(each.host);
    }
  }
  return causes;
}

std::string line_of(const Cause& cause) {
  std::string line = text_of(*cause.first);
  if (cause.others.empty()) return line;
  line += " (the same on ";
  const std::size_t named = std::min(cause.others.size(), hosts_named_max);
  for (std::size_t i = 0; i < named; ++i) line += (i == 0 ? "" : ", ") + cause.others[i];
  if (named < cause.others.size()) line += " and " + std::to_string(cause.others.size() - named) + " more";
  return line + ")";
}

// "host h2: "
std::string_view beginning_of(std::string_view difference) {
  return difference.substr(0, difference.find(": ") + 2);
}

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

std::string text_of(const RefusingHost& refusing) {
  if (refusing.refusal.cause.empty()) return "";
  const std::string& remedy = refusing.refusal.remedy;
  return "host " + refusing.host + refusing.refusal.cause + (remedy.empty() ? "" : "; " + remedy);
}

std::vector<std::string> refusal_lines(const std::vector<RefusingHost>& refusing,
                                       const std::vector<std::string>& differences) {
  std::vector<std::string> lines;
  for (const Cause& cause : causes_of(refusing)) lines.push_back(line_of(cause));
  for (std::size_t i = 0; i < differences.size();) {
    const std::string_view host = beginning_of(differences[i]);
    std::size_t end = i + 1;
    while (end < differences.size() && beginning_of(differences[end]) == host) ++end;
    std::string line = differences[i];
    if (end - i > 1)
      line += " (and " + std::to_string(end - i - 1) + " more; `musubi doctor --hosts` lists them)";
    if (std::ranges::find(lines, line) == lines.end()) lines.push_back(line);
    i = end;
  }
  return lines;
}

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
