#include "runtime/start/address_plan.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/start/reservation.h"

namespace musubi::runtime {
namespace {

constexpr std::size_t MiB = std::size_t{1} << 20;
constexpr std::size_t GiB = std::size_t{1} << 30;

struct Job {
  Mappers mappers;
  std::size_t stack_bytes;
  // The minimum that the plan provides; 0: the job does not fit.
  std::size_t heap_bytes;
  std::size_t stack_slots;
  std::size_t global_bytes;
  std::size_t added_bytes;
  std::size_t late_library_bytes;
};

std::string name(const Job& job) {
  return std::to_string(job.mappers.ranks) + " ranks, " + std::to_string(job.mappers.together) +
         " on a host, stacks of " + std::to_string(job.stack_bytes / MiB) + " MiB" +
         (job.mappers.commit_strictly ? ", which commits strictly" : "");
}

// Each rank provides less memory the more ranks map each other, and the more ranks there are, since each view
// covers all memory; ranks on hosts of their own provide most.
const std::vector<Job> jobs = {
    {{2, 2}, 64 * MiB, 1024 * GiB, 4097, 16 * GiB, 64 * GiB, 4 * GiB},
    {{2, 2, true}, 64 * MiB, 32 * GiB, 33, 16 * GiB, 64 * GiB, 4 * GiB},
    {{4, 4}, 64 * MiB, 455 * GiB, 4097, 16 * GiB, 64 * GiB, 4 * GiB},
    {{8, 8}, 64 * MiB, 120 * GiB, 2560, 16 * GiB, 64 * GiB, 4 * GiB},
    {{16, 16}, 64 * MiB, 32 * GiB, 575, 16 * GiB, 64 * GiB, 4 * GiB},
    {{38, 38}, 64 * MiB, 32 * GiB, 33, 16 * GiB, 64 * GiB, 4 * GiB},
    {{64, 64}, 64 * MiB, 10 * GiB, 32, 16 * GiB, 62 * GiB, 4 * GiB},
    {{256, 256}, 64 * MiB, 400 * MiB, 5, 16 * GiB, 15 * GiB, 4 * GiB},
    {{1000, 1000}, 64 * MiB, 0, 0, 0, 0, 0},
    {{1000, 1000}, 1 * MiB, 24 * MiB, 23, 8 * GiB, 4 * GiB, 2 * GiB},
    {{4096, 4096}, 64 * MiB, 0, 0, 0, 0, 0},
    {{4096, 4096}, 256 << 10, 1 * MiB, 4, 2 * GiB, 1000 * MiB, 510 * MiB},
    {{2, 1}, 64 * MiB, 1024 * GiB, 4097, 16 * GiB, 64 * GiB, 4 * GiB},
    {{8, 1}, 64 * MiB, 680 * GiB, 4097, 16 * GiB, 64 * GiB, 4 * GiB},
    {{64, 1}, 64 * MiB, 85 * GiB, 1780, 16 * GiB, 64 * GiB, 4 * GiB},
    {{256, 1}, 64 * MiB, 32 * GiB, 360, 16 * GiB, 64 * GiB, 4 * GiB},
    {{1000, 1}, 64 * MiB, 31 * GiB, 33, 16 * GiB, 64 * GiB, 4 * GiB},
    {{4096, 1}, 64 * MiB, 6 * GiB, 32, 16 * GiB, 64 * GiB, 4 * GiB},
    {{64, 4}, 64 * MiB, 32 * GiB, 515, 16 * GiB, 64 * GiB, 4 * GiB},
    {{256, 4}, 64 * MiB, 32 * GiB, 44, 16 * GiB, 64 * GiB, 4 * GiB},
    {{1000, 4}, 64 * MiB, 9 * GiB, 32, 16 * GiB, 64 * GiB, 4 * GiB},
    {{4096, 4}, 64 * MiB, 1400 * MiB, 19, 16 * GiB, 64 * GiB, 4 * GiB},
    {{256, 64}, 64 * MiB, 1500 * MiB, 22, 16 * GiB, 62 * GiB, 4 * GiB},
    {{1000, 64}, 64 * MiB, 400 * MiB, 5, 16 * GiB, 62 * GiB, 4 * GiB},
    {{4096, 64}, 64 * MiB, 54 * MiB, 2, 16 * GiB, 62 * GiB, 4 * GiB},
};

void expect_as_planned(const Job& job) {
  config::Settings settings;
  settings.stack_bytes = job.stack_bytes;
  auto made = AddressPlan::make(settings, job.mappers, {}, true);
  const bool fits = made.ok() && fits_processor(reservation_of(made.value()), job.mappers).ok();
  EXPECT_EQ(fits, job.heap_bytes != 0);
  if (!fits) return;
  const AddressPlan& plan = made.value();
  // More than a quarter above the table would mean that the table is out of date.
  const auto expect = [](const char* what, std::size_t planned, std::size_t wanted) {
    EXPECT_GE(planned, wanted) << what;
    EXPECT_LE(planned, wanted + wanted / 4) << what;
  };
  expect("heap", plan.layout.heap_bytes_per_rank, job.heap_bytes);
  expect("stacks", plan.layout.stack_slots_per_rank, job.stack_slots);
  expect("global", plan.global_bytes, job.global_bytes);
  expect("added", plan.added_bytes, job.added_bytes);
  expect("late libraries", plan.layout.late_libraries_bytes, job.late_library_bytes);
}

TEST(AddressPlan, DependsOnTheRanksThatMapEachOther) {
  for (const Job& job : jobs) {
    SCOPED_TRACE(name(job));
    expect_as_planned(job);
  }
}

// Unless a host is too full, every job fits with the default settings.
TEST(AddressPlan, JobsOfUpTo256RanksOnAHostFit) {
  const config::Settings settings;
  for (const std::uint32_t hosts : {1u, 2u, 4u}) {
    for (std::uint32_t together = 1; together <= 256; ++together) {
      const Mappers mappers{hosts * together, together};
      auto plan = AddressPlan::make(settings, mappers, {});
      ASSERT_TRUE(plan.ok()) << together;
      EXPECT_TRUE(fits_processor(reservation_of(plan.value()), mappers).ok()) << together;
    }
  }
}

std::string objection_to(std::size_t heap_bytes, const Mappers& mappers) {
  config::Settings settings;
  settings.heap_bytes = heap_bytes;
  auto plan = AddressPlan::make(settings, mappers, {});
  if (!plan) return plan.error().message;
  EXPECT_EQ(plan.value().layout.heap_bytes_per_rank, heap_bytes);
  const auto fits = fits_processor(reservation_of(plan.value()), mappers);
  return fits ? "" : fits.error().message;
}

// User settings are kept; a job that does not fit is refused, with the setting to lower.
TEST(AddressPlan, RefusesWhatDoesNotFit) {
  EXPECT_EQ(objection_to(16 * GiB, {64, 1}), "");
  const std::string one_host = objection_to(16 * GiB, Mappers::on_one_host(64));
  EXPECT_NE(one_host.find("a job of 64 ranks would reserve"), std::string::npos) << one_host;
  EXPECT_NE(one_host.find("lower heap_bytes"), std::string::npos) << one_host;
  const std::string hosts = objection_to(16 * GiB, {1000, 64});
  EXPECT_NE(hosts.find("a job of 1000 ranks, of which 64 share a host, would reserve"), std::string::npos)
      << hosts;
  EXPECT_NE(hosts.find("or the number of ranks on a host"), std::string::npos) << hosts;
  const std::string whole = objection_to(64 * GiB, {1000, 1});
  EXPECT_NE(whole.find("the shared range of 1000 ranks does not fit"), std::string::npos) << whole;
}

}  // namespace
}  // namespace musubi::runtime
