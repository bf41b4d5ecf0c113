// The port's suite on the driver ofi, over tcp;ofi_rxm, which stands in for networks that this machine lacks,
// and over udp;ofi_rxd: one process holds the ranks, the network is real.
#include "fabric_suite.h"
#include "network_world.h"
#include "ofi_ranks.h"
#include "os/cpu.h"
#include "waiting_suite.h"

namespace musubi::fabric::conformance {
namespace {

std::unique_ptr<FabricWorld> make_world(std::uint32_t ranks, std::size_t region_bytes, WaitingPolicy policy,
                                        std::string_view provider, std::size_t rma_bytes_min = 0) {
  OfiOptions options = ofi_options_of_tests(provider);
  options.rma_bytes_min = rma_bytes_min;
  return std::make_unique<NetworkWorld<OfiRank>>(
      ranks, [&](OfiRank& one, Rank rank, const Exchange& exchange) {
        return one.open(rank, ranks, region_bytes, options, exchange, policy);
      });
}

std::unique_ptr<FabricWorld> make_by_cores(std::uint32_t ranks, std::size_t region_bytes) {
  return make_world(ranks, region_bytes, waiting_policy(ranks, os::allowed_cores()), "tcp;ofi_rxm");
}

std::unique_ptr<FabricWorld> make_sleepy(std::uint32_t ranks, std::size_t region_bytes) {
  return make_world(ranks, region_bytes, WaitingPolicy{}, "tcp;ofi_rxm");
}

std::unique_ptr<FabricWorld> make_yielding(std::uint32_t ranks, std::size_t region_bytes) {
  return make_world(ranks, region_bytes, WaitingPolicy{.spin_checks = 0, .yields = 50}, "tcp;ofi_rxm");
}

// Gets by the network itself. Over TCP the kernel may tear words: tests that check this request less.
std::unique_ptr<FabricWorld> make_reading(std::uint32_t ranks, std::size_t region_bytes) {
  return make_world(ranks, region_bytes, WaitingPolicy{}, "tcp;ofi_rxm", 64);
}

std::unique_ptr<FabricWorld> make_by_udp(std::uint32_t ranks, std::size_t region_bytes) {
  return make_world(ranks, region_bytes, WaitingPolicy{}, "udp;ofi_rxd");
}

std::vector<Driver> drivers() {
  std::vector<Driver> all;
  if (has_provider("tcp;ofi_rxm"))
    all = {{"by_cores", &make_by_cores, 2}, {"sleepy", &make_sleepy, 2}, {"reading", &make_reading, 2}};
  if (has_provider("udp;ofi_rxd")) all.push_back({"by_udp", &make_by_udp, 1});
  return all;
}

std::vector<Driver> waiting_drivers() {
  if (!has_provider("tcp;ofi_rxm")) return {};
  return {{"sleepy", &make_sleepy}, {"yielding", &make_yielding}, {"reading", &make_reading}};
}

INSTANTIATE_TEST_SUITE_P(Ofi, WaitingSuite, ::testing::ValuesIn(waiting_drivers()), driver_name);
INSTANTIATE_TEST_SUITE_P(Ofi, FabricSuite, ::testing::ValuesIn(drivers()), driver_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(WaitingSuite);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FabricSuite);

}  // namespace
}  // namespace musubi::fabric::conformance
