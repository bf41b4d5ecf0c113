// Whether hosts can run one job together. No I/O.
#pragma once

#include <string>
#include <vector>

#include "launch/hosts/orders.h"

namespace musubi::launch {

struct HostFacts {
  std::string host;
  std::vector<Fact> facts;
};

// A line for each fact in which a host differs from the first one; if its first fact differs, only for that
// one. Empty: no differences.
std::vector<std::string> differences(const std::vector<HostFacts>& hosts);

}  // namespace musubi::launch
