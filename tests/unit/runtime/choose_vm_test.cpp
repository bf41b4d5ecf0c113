// The choice of the driver of the vm port for a job.
#include "runtime/start/choose_vm.h"

#include <gtest/gtest.h>

#include "os/fault_file.h"
#include "os/memory.h"

namespace musubi::runtime {
namespace {

struct NoSink final : vm::FaultSink {
  bool on_fault(const vm::Fault&) noexcept override { return false; }
};

class ChooseVm : public testing::Test {
 protected:
  ChooseVm() {
    vm::Segment segment;
    segment.base = 0x510000000000;
    segment.bytes = 1 << 20;
    segment.block_bytes = 4096;
    space_.add(segment);
  }
  Result<ChosenVm> choose(const std::string& vm_driver, std::uint32_t ranks, std::uint64_t threads_per_rank,
                          std::uint32_t cores) {
    config::Settings settings;
    settings.vm_driver = vm_driver;
    settings.threads_per_rank = threads_per_rank;
    return choose_vm(settings, ranks, HostShare{ranks, cores}, space_, memory_.number(), sink_, counters_);
  }
  std::string_view chosen(const std::string& vm_driver, std::uint32_t ranks, std::uint64_t threads_per_rank,
                          std::uint32_t cores) {
    return choose(vm_driver, ranks, threads_per_rank, cores).value().name;
  }

 private:
  vm::Space space_{2};
  os::FileDescriptor memory_ = os::create_memory_file("musubi-test", 1 << 20).value();
  NoSink sink_;
  trace::Counters counters_;
};

TEST_F(ChooseVm, MprotectUnlessThreadsOfARankRunAtOnce) {
  EXPECT_EQ(chosen("auto", 2, 1, 64), "mprotect");
  EXPECT_EQ(chosen("auto", 1, 8, 64), "mprotect");
  EXPECT_EQ(chosen("auto", 2, 2, 3), "mprotect");
  EXPECT_EQ(chosen("mprotect", 2, 8, 64), "mprotect");
}

TEST_F(ChooseVm, UserfaultfdWhenTheyDoOrWhenAsked) {
  if (const auto file = os::FaultFile::open(); !file) GTEST_SKIP() << file.error().message;
  EXPECT_EQ(chosen("auto", 2, 2, 4), "uffd");
  EXPECT_EQ(chosen("auto", 4, 8, 64), "uffd");
  EXPECT_EQ(chosen("uffd", 1, 1, 1), "uffd");
}

TEST_F(ChooseVm, WhereTheKernelRefusesAutoDoesWithoutAndTheRestIsAnError) {
  if (os::FaultFile::open()) GTEST_SKIP() << "this kernel has userfaultfd";
  EXPECT_EQ(chosen("auto", 2, 2, 4), "mprotect");
  const auto refused = choose("uffd", 2, 2, 4);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("or set vm_driver=mprotect"), std::string::npos);
}

}  // namespace
}  // namespace musubi::runtime
