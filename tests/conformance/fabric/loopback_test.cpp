// The port's suite on the active-message engine, over the driver loopback.
#include "loopback.h"
#include "fabric_suite.h"
#include "os/cpu.h"
#include "service_threads.h"
#include "waiting_suite.h"

namespace musubi::fabric::conformance {
namespace {

class LoopbackWorld final : public ServedWorld {
 public:
  LoopbackWorld(std::uint32_t ranks, std::size_t region_bytes, WaitingPolicy policy) : ServedWorld(ranks) {
    auto opened = LoopbackJob::open(ranks, region_bytes, policy);
    MUSUBI_CHECK(opened.ok(), "%s", opened.error().message.c_str());
    job_ = std::move(opened).value();
  }

  Fabric& fabric(Rank rank) override { return job_->fabric(rank); }
  std::byte* memory(Rank rank) override { return job_->memory(rank); }

 private:
  std::unique_ptr<LoopbackJob> job_;
};

std::unique_ptr<FabricWorld> make_by_cores(std::uint32_t ranks, std::size_t region_bytes) {
  return std::make_unique<LoopbackWorld>(ranks, region_bytes, waiting_policy(ranks, os::allowed_cores()));
}

std::unique_ptr<FabricWorld> make_sleepy(std::uint32_t ranks, std::size_t region_bytes) {
  return std::make_unique<LoopbackWorld>(ranks, region_bytes, WaitingPolicy{});
}

std::unique_ptr<FabricWorld> make_yielding(std::uint32_t ranks, std::size_t region_bytes) {
  return std::make_unique<LoopbackWorld>(ranks, region_bytes, WaitingPolicy{.spin_checks = 0, .yields = 50});
}

std::unique_ptr<FabricWorld> make_impatient(std::uint32_t ranks, std::size_t region_bytes) {
  return std::make_unique<LoopbackWorld>(ranks, region_bytes, WaitingPolicy{.spin_checks = 20, .yields = 1});
}

INSTANTIATE_TEST_SUITE_P(Loopback, WaitingSuite,
                         ::testing::Values(Driver{"sleepy", &make_sleepy}, Driver{"yielding", &make_yielding},
                                           Driver{"impatient", &make_impatient}),
                         driver_name);

INSTANTIATE_TEST_SUITE_P(Loopback, FabricSuite,
                         ::testing::Values(Driver{"by_cores", &make_by_cores, 5},
                                           Driver{"sleepy", &make_sleepy, 5}),
                         driver_name);

}  // namespace
}  // namespace musubi::fabric::conformance
