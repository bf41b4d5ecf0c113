// Limits of control groups, read from made-up folders.
#include "os/control_group.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace musubi::os {
namespace {

class ControlGroups : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/control_group_test.XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = folder_ + "/" + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  ControlGroup read() { return read_control_group(folder_ + "/process", folder_ + "/groups"); }
  std::optional<std::uint64_t> left() {
    return memory_bytes_left(folder_ + "/process", folder_ + "/groups", folder_ + "/meminfo");
  }

  std::string folder_;
};

TEST_F(ControlGroups, WithoutGroupsThereAreNoLimits) {
  const ControlGroup group = read();
  EXPECT_FALSE(group.memory_bytes_max || group.memory_bytes_left || group.processors || group.processes_max);
}

TEST_F(ControlGroups, UnifiedGroupsGiveTheLeastOfTheirOwnAndTheLimitsAbove) {
  write("process/cgroup", "0::/batch/job\n");
  write("groups/batch/job/memory.max", "max\n");
  write("groups/batch/job/cpu.max", "max 100000\n");
  write("groups/batch/job/pids.max", "500\n");
  write("groups/batch/memory.max", "1000000\n");
  write("groups/batch/memory.current", "700000\n");
  write("groups/batch/memory.stat", "anon 1\nactive_file 100000\ninactive_file 50000\nshmem 9\n");
  write("groups/batch/cpu.max", "150000 100000\n");
  write("groups/batch/pids.max", "max\n");
  const ControlGroup group = read();
  EXPECT_EQ(group.memory_bytes_max, 1000000u);
  EXPECT_EQ(group.memory_bytes_left, 450000u);
  EXPECT_EQ(group.processors, 1.5);
  EXPECT_EQ(group.processes_max, 500u);
}

TEST_F(ControlGroups, SeparateGroupsHaveOtherNames) {
  write("process/cgroup", "9:name=systemd:/\n4:memory:/box\n3:cpu,cpuacct:/box\n2:pids:/box\n0::/\n");
  write("groups/memory/box/memory.limit_in_bytes", "2000\n");
  write("groups/memory/box/memory.usage_in_bytes", "500\n");
  write("groups/memory/box/memory.stat", "total_active_file 100\ntotal_inactive_file 0\n");
  write("groups/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("groups/cpu/box/cpu.cfs_quota_us", "-1\n");
  write("groups/cpu/box/cpu.cfs_period_us", "100000\n");
  write("groups/pids/box/pids.max", "max\n");
  const ControlGroup group = read();
  EXPECT_EQ(group.memory_bytes_max, 2000u);
  EXPECT_EQ(group.memory_bytes_left, 1600u);
  EXPECT_FALSE(group.processors);
  EXPECT_FALSE(group.processes_max);
}

TEST_F(ControlGroups, WhatIsLeftIsTheLessOfMachineAndGroup) {
  EXPECT_FALSE(left());
  write("meminfo", "MemTotal:       1000 kB\nMemAvailable:    300 kB\nSwapFree:        100 kB\n");
  EXPECT_EQ(left(), 400u * 1024);
  write("process/cgroup", "0::/\n");
  write("groups/memory.max", "102400\n");
  write("groups/memory.current", "2400\n");
  EXPECT_EQ(left(), 100000u);
}

TEST_F(ControlGroups, TheKernelCountsWhomItKilledForMemory) {
  EXPECT_EQ(memory_kills(folder_ + "/vmstat"), 0u);
  write("vmstat", "nr_free_pages 12\noom_kill 3\npgfault 7\n");
  EXPECT_EQ(memory_kills(folder_ + "/vmstat"), 3u);
}

TEST_F(ControlGroups, ThisMachineSaysWhatItHas) {
  const auto total = memory_line_bytes("/proc/meminfo", "MemTotal");
  ASSERT_TRUE(total);
  EXPECT_GT(*total, std::uint64_t{64} << 20);
  EXPECT_TRUE(memory_bytes_left());
}

}  // namespace
}  // namespace musubi::os
