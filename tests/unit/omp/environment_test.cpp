// The OMP_ variables are parsed strictly: an invalid value causes a warning and is ignored.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "omp/icv.h"

namespace musubi::omp {
namespace {

struct Reading {
  Environment environment;
  std::vector<std::string> warnings;
};

Reading read(const std::map<std::string, std::string>& variables) {
  Reading reading;
  reading.environment = read_environment(
      6,
      [&variables](const char* name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        if (found == variables.end()) return {};
        return found->second;
      },
      [&reading](const std::string& line) { reading.warnings.push_back(line); });
  return reading;
}

TEST(Environment, has_defaults) {
  const Reading reading = read({});
  EXPECT_TRUE(reading.warnings.empty());
  EXPECT_EQ(6u, reading.environment.initial.threads);
  EXPECT_EQ(Schedule::dynamic, reading.environment.initial.schedule.kind);
  EXPECT_EQ(1u, reading.environment.initial.schedule.chunk);
  EXPECT_EQ(1u, reading.environment.initial.max_active_levels);
  EXPECT_FALSE(reading.environment.cancellation);
}

TEST(Environment, understands_what_the_specification_allows) {
  const Reading reading = read({{"OMP_NUM_THREADS", " 4, 3,2"},
                                {"OMP_SCHEDULE", "nonmonotonic:Guided , 16"},
                                {"OMP_DYNAMIC", "TRUE"},
                                {"OMP_MAX_ACTIVE_LEVELS", "3"},
                                {"OMP_STACKSIZE", "20 M"},
                                {"OMP_CANCELLATION", "true"},
                                {"OMP_NUM_TEAMS", "3"},
                                {"OMP_TEAMS_THREAD_LIMIT", "5"},
                                {"OMP_MAX_TASK_PRIORITY", "7"},
                                {"OMP_ALLOCATOR", "OMP_Cgroup_mem_alloc"},
                                {"OMP_TARGET_OFFLOAD", "mandatory"},
                                {"OMP_AFFINITY_FORMAT", "%n of %N"},
                                {"OMP_DISPLAY_AFFINITY", "1"},
                                {"OMP_DISPLAY_ENV", "verbose"}});
  EXPECT_TRUE(reading.warnings.empty());
  const Icv& icv = reading.environment.initial;
  EXPECT_EQ(4u, icv.threads);
  EXPECT_EQ(Schedule::guided, icv.schedule.kind);
  EXPECT_EQ(16u, icv.schedule.chunk);
  EXPECT_TRUE(icv.dynamic);
  EXPECT_EQ(3u, icv.max_active_levels);
  EXPECT_EQ(std::uint64_t{20} << 20, reading.environment.stack_bytes);
  EXPECT_TRUE(reading.environment.cancellation);
  EXPECT_EQ(3u, icv.teams);
  EXPECT_EQ(5u, icv.teams_thread_limit);
  EXPECT_EQ(6u, icv.allocator);
  EXPECT_EQ(7u, reading.environment.max_task_priority);
  EXPECT_TRUE(reading.environment.target_mandatory);
  EXPECT_TRUE(reading.environment.display_affinity);
  EXPECT_EQ("%n of %N", reading.environment.affinity_format);
  EXPECT_EQ(Environment::Display::verbose, reading.environment.display);
}

TEST(Environment, refuses_rubbish_with_one_line_each) {
  for (const auto& [name, text] :
       std::vector<std::pair<std::string, std::string>>{{"OMP_NUM_THREADS", "four"},
                                                        {"OMP_NUM_THREADS", "0"},
                                                        {"OMP_NUM_THREADS", "-2"},
                                                        {"OMP_NUM_THREADS", "4,"},
                                                        {"OMP_NUM_THREADS", ""},
                                                        {"OMP_SCHEDULE", "fast"},
                                                        {"OMP_SCHEDULE", "dynamic,0"},
                                                        {"OMP_SCHEDULE", "slow:dynamic"},
                                                        {"OMP_DYNAMIC", "maybe"},
                                                        {"OMP_STACKSIZE", "2T"},
                                                        {"OMP_THREAD_LIMIT", "0"},
                                                        {"OMP_NUM_TEAMS", "0"},
                                                        {"OMP_MAX_TASK_PRIORITY", "-1"},
                                                        {"OMP_ALLOCATOR", "malloc"},
                                                        {"OMP_TARGET_OFFLOAD", "perhaps"},
                                                        {"OMP_MAX_ACTIVE_LEVELS", "x"}}) {
    const Reading reading = read({{name, text}});
    ASSERT_EQ(1u, reading.warnings.size()) << name << "=" << text;
    EXPECT_NE(std::string::npos, reading.warnings[0].find(name)) << reading.warnings[0];
    EXPECT_EQ(6u, reading.environment.initial.threads);
    EXPECT_EQ(Schedule::dynamic, reading.environment.initial.schedule.kind);
  }
}

// Programs see the schedule by omp_get_schedule, as with libgomp.
TEST(Environment, gives_a_chunk_to_each_schedule) {
  const auto chunk_of = [](const char* text) {
    return read({{"OMP_SCHEDULE", text}}).environment.initial.schedule.chunk;
  };
  EXPECT_EQ(0u, chunk_of("static"));
  EXPECT_EQ(1u, chunk_of("dynamic"));
  EXPECT_EQ(1u, chunk_of("guided"));
  EXPECT_EQ(1u, chunk_of("auto"));
  EXPECT_EQ(5u, chunk_of("auto,5"));
}

TEST(Environment, the_thread_limit_bounds_the_team) {
  EXPECT_EQ(2u, read({{"OMP_THREAD_LIMIT", "2"}}).environment.initial.threads);
}

}  // namespace
}  // namespace musubi::omp
