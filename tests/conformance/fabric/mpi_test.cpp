// The port's suite on the driver mpi, over Open MPI and MPICH: one process holds the ranks, and processes
// started by mpirun carry their messages.
#include "fabric_suite.h"
#include "mpi_ranks.h"
#include "os/cpu.h"
#include "waiting_suite.h"

namespace musubi::fabric::conformance {
namespace {

constexpr TestedMpi open_mpi_of_tests{"mpirun.openmpi", OPENMPI_ADAPTER};
constexpr TestedMpi mpich_of_tests{"mpirun.mpich", MPICH_ADAPTER};

template <const TestedMpi& mpi>
std::unique_ptr<FabricWorld> make_world(std::uint32_t ranks, std::size_t region_bytes, WaitingPolicy policy) {
  static Carriers carriers(mpi);
  return std::make_unique<MpiWorld>(carriers, ranks, region_bytes, policy);
}

template <const TestedMpi& mpi>
std::unique_ptr<FabricWorld> make_by_cores(std::uint32_t ranks, std::size_t region_bytes) {
  return make_world<mpi>(ranks, region_bytes, waiting_policy(ranks, os::allowed_cores()));
}

template <const TestedMpi& mpi>
std::unique_ptr<FabricWorld> make_sleepy(std::uint32_t ranks, std::size_t region_bytes) {
  return make_world<mpi>(ranks, region_bytes, WaitingPolicy{});
}

bool is_there(const TestedMpi& mpi) {
  if (*mpi.adapter != '\0') return true;
  std::printf("not tested by %s: there is no such MPI here\n", mpi.mpirun);
  return false;
}

std::vector<Driver> drivers() {
  std::vector<Driver> all;
  if (is_there(open_mpi_of_tests)) all.push_back({"openmpi", &make_by_cores<open_mpi_of_tests>, 1});
  if (is_there(mpich_of_tests)) all.push_back({"mpich", &make_sleepy<mpich_of_tests>, 1});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Mpi, WaitingSuite, ::testing::ValuesIn(drivers()), driver_name);
INSTANTIATE_TEST_SUITE_P(Mpi, FabricSuite, ::testing::ValuesIn(drivers()), driver_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(WaitingSuite);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FabricSuite);

}  // namespace
}  // namespace musubi::fabric::conformance
