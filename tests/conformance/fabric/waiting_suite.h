// Waiting threads of one rank, for drivers whose ranks are threads of one process: no wake-up is lost. A
// driver takes part as in FabricSuite, once per way of waiting.
#pragma once

#include "fabric_suite.h"

namespace musubi::fabric::conformance {

class WaitingSuite : public ::testing::TestWithParam<Driver> {
 protected:
  void join() { world_ = GetParam().make(2, 4096); }
  Fabric& fabric(std::uint32_t rank) { return world_->fabric(Rank{rank}); }

  std::unique_ptr<FabricWorld> world_;
};

}  // namespace musubi::fabric::conformance
