// The reasons why a job over several hosts does not start, in as few lines as possible.
#pragma once

#include <string>
#include <vector>

#include "launch/hosts/wire/orders.h"

namespace musubi::launch {

// The reason of one host.
struct Refusal {
  std::string cause;   // follows the host's name: " cannot be reached: ..."; empty: it can be used
  std::string remedy;  // may be empty
};

struct RefusingHost {
  std::string host;
  Refusal refusal;
};

// "host h2 cannot be reached: ...; try ...". Empty without a cause.
std::string text_of(const RefusingHost& refusing);

// A line for each cause, with the names of all its hosts; then one for each host that differs, with its first
// difference. `differences` are grouped by host.
std::vector<std::string> refusal_lines(const std::vector<RefusingHost>& refusing,
                                       const std::vector<std::string>& differences);

// The facts that decide whether hosts can run one job together.
struct HostFacts {
  std::string host;
  std::vector<Fact> facts;
};

// A line for each fact in which a host differs from the first one; if its first fact differs, only for that
// one. Empty: no differences.
std::vector<std::string> differences(const std::vector<HostFacts>& hosts);

}  // namespace musubi::launch
