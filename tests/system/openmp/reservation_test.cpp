// Untouched address space costs nothing: neither time nor memory, counted in page faults, resident memory and
// page tables of a job that does almost nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "heap/free_pages.h"
#include "openmp_job.h"
#include "runtime/start/reservation.h"

namespace musubi::test {
namespace {

// The largest of all ranks.
struct Cost {
  long faults = 0;
  long resident_kib = 0;
  long table_kib = 0;
  long data_kib = 0;
};

Cost cost_of(int ranks, const std::vector<std::string>& settings) {
  LaunchedJob::Options options{{"run", "-n", std::to_string(ranks)}};
  for (const std::string& setting : settings) {
    options.arguments.insert(options.arguments.end(), {"--set", setting});
  }
  options.arguments.push_back(PROGRAM_FOLDER "reservation");
  LaunchedJob job(options);
  EXPECT_EQ(job.wait(), 0) << job.error();
  Cost most;
  int lines = 0;
  std::istringstream output(job.output());
  for (Cost one; output >> one.faults >> one.resident_kib >> one.table_kib >> one.data_kib; ++lines) {
    most.faults = std::max(most.faults, one.faults);
    most.resident_kib = std::max(most.resident_kib, one.resident_kib);
    most.table_kib = std::max(most.table_kib, one.table_kib);
    most.data_kib = std::max(most.data_kib, one.data_kib);
  }
  EXPECT_EQ(lines, ranks) << job.output();
  return most;
}

class ReservationOf : public testing::TestWithParam<int> {};

TEST_P(ReservationOf, StaticDataThatNobodyTouchesIsNotLookedAt) {
  const Cost cost = cost_of(GetParam(), {});
  EXPECT_LT(cost.faults, 6000);  // the static data alone has 393,216 pages
  EXPECT_LT(cost.resident_kib, 32 * 1024);
  EXPECT_LT(cost.table_kib, 2 * 1024);
}

TEST_P(ReservationOf, ATebibyteCostsHardlyMoreThanTheDefault) {
  const int ranks = GetParam();
  const Cost usual = cost_of(ranks, {});
  const std::string share = std::to_string(1024 / ranks) + "GiB";
  // With the smallest blocks the tables are largest: 268 million elements each.
  for (const char* block_bytes : {"32KiB", "4KiB"}) {
    const Cost huge = cost_of(ranks, {"heap_bytes=" + share, "heap_block_bytes=" + std::string(block_bytes)});
    EXPECT_LT(huge.faults, usual.faults + 200) << block_bytes;
    EXPECT_LT(huge.resident_kib, usual.resident_kib + 1024) << block_bytes;
    EXPECT_LT(huge.table_kib, usual.table_kib + 256) << block_bytes;
  }
}

// A rank reserves the tables that the page on memory and `musubi doctor` state.
TEST(Reservation, TablesHaveTheSizesThatAreTold) {
  const long few = cost_of(2, {"heap_bytes=16GiB"}).data_kib;
  const long many = cost_of(2, {"heap_bytes=528GiB"}).data_kib;
  constexpr long ranks = 2, block_pages = 8;
  const long blocks = ranks * (512l << 20) / 32;  // 512 GiB more, twice
  // The C library's own data varies, and the stack of a thread that has not ended yet counts, too.
  const long bytes = ((many - few) * 1024 + blocks / 2) / blocks;
  // A rank keeps the list of free pages of its own part of the heap.
  constexpr long of_heap = block_pages * static_cast<long>(heap::FreePages::bits_per_page) / 8 / ranks;
  EXPECT_EQ(bytes, static_cast<long>(runtime::TableBytes::in_process) + of_heap);
}

INSTANTIATE_TEST_SUITE_P(Sizes, ReservationOf, testing::Values(1, 2),
                         [](const auto& size) { return "ranks_" + std::to_string(size.param); });

}  // namespace
}  // namespace musubi::test
