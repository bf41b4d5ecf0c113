// Whether hosts can carry one job together. No I/O.
#pragma once

#include <string>
#include <vector>

#include "launch/hosts/orders.h"

namespace musubi::launch {

struct HostFacts {
  std::string host;
  std::vector<Fact> facts;
};

// A line for each thing that differs on a host from the first one; where the first fact does, for that alone.
// Empty: nothing differs.
std::vector<std::string> differences(const std::vector<HostFacts>& hosts);

}  // namespace musubi::launch
