// Leagues, target regions on the host, allocators and affinity.
#include <gtest/gtest.h>
#include <omp.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "constructs.h"

namespace musubi::testing {
namespace {

class Devices : public Constructs {};

INSTANTIATE_TEST_SUITE_P(Jobs, Devices, all_shapes, shape_name);

// The compiler accepts few statements directly inside of teams.
#pragma omp declare target
int thread_limit() {
  return omp_get_thread_limit();
}
#pragma omp end declare target

TEST_P(Devices, leagues_have_the_teams_that_were_asked_for) {
  const auto body = [] {
    // By team: teams run at the same time.
    int seen[4] = {}, wrong[3] = {}, threads[3] = {};
#pragma omp teams num_teams(3) thread_limit(2)
    {
      const int number = omp_get_team_num();
      seen[number]++;
      int wrong_here = omp_get_num_teams() != 3 || thread_limit() != 2, threads_here = 0;
#pragma omp parallel reduction(+ : threads_here, wrong_here)
      {
        threads_here++;
        wrong_here += omp_get_team_num() != number || omp_get_num_teams() != 3 || omp_get_num_threads() > 2;
      }
      wrong[number] = wrong_here;
      threads[number] = threads_here;
    }
    for (int i = 0; i < 4; ++i) EXPECT_EQ(i < 3, seen[i]);
    const int of_a_team = GetParam().ranks <= 3 ? static_cast<int>(GetParam().threads) : team();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(std::min(2, of_a_team), threads[i]);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(0, wrong[i]);
    EXPECT_EQ(1, omp_get_num_teams());
    EXPECT_EQ(0, omp_get_team_num());
    int leagues = 0;
#pragma omp teams reduction(+ : leagues)
    leagues += omp_get_num_teams();
    EXPECT_EQ(1, leagues);
    omp_set_num_teams(2);
    omp_set_teams_thread_limit(1);
    EXPECT_EQ(2, omp_get_max_teams());
    EXPECT_EQ(1, omp_get_teams_thread_limit());
    leagues = 0;
#pragma omp teams reduction(+ : leagues)
    leagues += thread_limit();
    EXPECT_EQ(2, leagues);
    int* hits = shared_array<int>(100);
#pragma omp teams distribute parallel for num_teams(3)
    for (int i = 0; i < 100; ++i) hits[i]++;
    for (int i = 0; i < 100; ++i) EXPECT_EQ(1, hits[i]);
  };
  EXPECT_EQ(0, run(body));
}

TEST_P(Devices, variables_of_leagues_and_priorities) {
  const auto body = [] {
    EXPECT_EQ(2, omp_get_max_teams());
    EXPECT_EQ(3, omp_get_teams_thread_limit());
    EXPECT_EQ(9, omp_get_max_task_priority());
    int teams = 0, limits = 0;
#pragma omp teams reduction(+ : teams, limits)
    {
      teams++;
      limits += thread_limit();
    }
    EXPECT_EQ(2, teams);
    EXPECT_EQ(6, limits);
  };
  EXPECT_EQ(
      0,
      run(body, {{"OMP_NUM_TEAMS", "2"}, {"OMP_TEAMS_THREAD_LIMIT", "3"}, {"OMP_MAX_TASK_PRIORITY", "9"}}));
}

void use_target_regions(int threads_of_job) {
  EXPECT_EQ(0, omp_get_num_devices());
  EXPECT_EQ(0, omp_get_initial_device());
  const int parallel = threads_of_job > 1;
  int mapped = 1, copied = 5, host = 0, threads = 0;
  long array[10] = {};
  char small = 'a';
  double wide = 2.5;
  struct {
    int values[20];
  } block = {};
#pragma omp target map(tofrom : mapped, array, host, threads) firstprivate(copied, small, wide, block)
  {
    mapped++;
    copied++;
    small++;
    wide += copied;
    block.values[3] = 7;
    host = omp_is_initial_device();
#pragma omp parallel for reduction(+ : threads)
    for (int i = 0; i < 10; ++i) {
      array[i] = i + copied + static_cast<long>(wide);
      threads += omp_in_parallel() == parallel;
    }
  }
  EXPECT_EQ(2, mapped);
  EXPECT_EQ(5, copied);
  EXPECT_EQ('a', small);
  EXPECT_EQ(2.5, wide);
  EXPECT_EQ(0, block.values[3]);
  EXPECT_EQ(1, host);
  EXPECT_EQ(10, threads);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(i + 6 + 8, array[i]);
  int teams = 0;
#pragma omp target teams num_teams(4) thread_limit(2) map(tofrom : teams) reduction(+ : teams)
  teams += omp_get_num_teams() == 4 && thread_limit() == 2 ? 1 : 100;
  EXPECT_EQ(4, teams);
#pragma omp target data map(tofrom : array)
  {
#pragma omp target enter data map(to : mapped)
#pragma omp target teams distribute parallel for nowait depend(out : array)
    for (int i = 0; i < 10; ++i) array[i] = -i;
#pragma omp taskwait
#pragma omp target update from(array)
#pragma omp target exit data map(from : mapped)
  }
  for (int i = 0; i < 10; ++i) EXPECT_EQ(-i, array[i]);
  int inside = 0;
#pragma omp parallel reduction(+ : inside)
  {
#pragma omp target map(tofrom : inside)
    {
      int members = 0;
#pragma omp parallel reduction(+ : members)
      members++;
      inside += members > 0;
    }
  }
  EXPECT_EQ(threads_of_job, inside);
}

TEST_P(Devices, target_regions_run_on_the_host) {
  const int threads = team();
  EXPECT_EQ(0, run([threads] { use_target_regions(threads); }));
}

TEST_P(Devices, memory_of_the_host_as_a_device) {
  const auto body = [] {
    const int host = omp_get_initial_device();
    auto* array = static_cast<int*>(omp_target_alloc(6 * 7 * sizeof(int), host));
    ASSERT_NE(nullptr, array);
    EXPECT_EQ(nullptr, omp_target_alloc(8, 3));
    for (int i = 0; i < 42; ++i) array[i] = i;
    int part[2 * 3] = {};
    const size_t volume[] = {2, 3}, to_offsets[] = {0, 0}, from_offsets[] = {1, 4}, to_size[] = {2, 3},
                 from_size[] = {6, 7};
    EXPECT_EQ(0, omp_target_memcpy_rect(part, array, sizeof(int), 2, volume, to_offsets, from_offsets,
                                        to_size, from_size, host, host));
    for (int i = 0; i < 6; ++i) EXPECT_EQ((1 + i / 3) * 7 + 4 + i % 3, part[i]);
    EXPECT_EQ(INT_MAX, omp_target_memcpy_rect(nullptr, nullptr, 1, 1, nullptr, nullptr, nullptr, nullptr,
                                              nullptr, host, host));
    EXPECT_EQ(0, omp_target_memcpy(part, array, sizeof(int), sizeof(int), 5 * sizeof(int), host, host));
    EXPECT_EQ(5, part[1]);
    EXPECT_EQ(EINVAL, omp_target_memcpy(part, array, 4, 0, 0, host, 2));
    EXPECT_TRUE(omp_target_is_present(array, host));
    EXPECT_FALSE(omp_target_is_present(array, 1));
    EXPECT_NE(0, omp_target_associate_ptr(array, array, 4, 0, host));
    omp_target_free(array, host);
    EXPECT_EQ(0, omp_pause_resource(omp_pause_soft, host));
    EXPECT_EQ(0, omp_pause_resource_all(omp_pause_hard));
    EXPECT_NE(0, omp_pause_resource(static_cast<omp_pause_resource_t>(7), host));
    int refused = 0;
#pragma omp parallel reduction(+ : refused)
    refused += omp_pause_resource_all(omp_pause_soft) != 0;
    EXPECT_EQ(team(), refused);
  };
  EXPECT_EQ(0, run(body));
}

TEST_P(Devices, pools_are_bounded_for_all_threads_together) {
  const auto body = [] {
    const omp_alloctrait_t traits[] = {
        {omp_atk_alignment, 256}, {omp_atk_pool_size, 1000}, {omp_atk_fallback, omp_atv_null_fb}};
    const omp_allocator_handle_t pool = omp_init_allocator(omp_default_mem_space, 3, traits);
    ASSERT_NE(omp_null_allocator, pool);
    int got = 0, aligned = 0;
    void* first = nullptr;
#pragma omp parallel reduction(+ : got, aligned)
    for (int i = 0; i < 10; ++i) {
      void* memory = omp_alloc(150, pool);
      got += memory != nullptr;
      aligned += reinterpret_cast<std::uintptr_t>(memory) % 256 == 0;
#pragma omp critical
      if (memory != nullptr) first = memory;
    }
    EXPECT_EQ(6, got);
    EXPECT_EQ(10 * team(), aligned);
    EXPECT_EQ(nullptr, omp_alloc(150, pool));
    omp_free(first, pool);
    void* again = omp_alloc(150, pool);
    EXPECT_NE(nullptr, again);
    EXPECT_EQ(nullptr, omp_realloc(again, 400, pool, pool));
    again = omp_realloc(again, 100, omp_null_allocator, pool);
    EXPECT_NE(nullptr, again);
    const omp_alloctrait_t whole[] = {{omp_atk_pool_size, 600}, {omp_atk_fallback, omp_atv_null_fb}};
    const omp_allocator_handle_t single = omp_init_allocator(omp_default_mem_space, 2, whole);
    void* grown = omp_realloc(omp_alloc(500, single), 600, single, single);
    EXPECT_NE(nullptr, grown);
    EXPECT_EQ(nullptr, omp_alloc(1, single));
    grown = omp_realloc(grown, 100, single, single);
    EXPECT_NE(nullptr, omp_alloc(500, single));
    EXPECT_EQ(nullptr, omp_alloc(1, single));
    const omp_alloctrait_t others[] = {
        {omp_atk_pool_size, 10}, {omp_atk_fallback, omp_atv_allocator_fb}, {omp_atk_fb_data, pool}};
    const omp_allocator_handle_t chained = omp_init_allocator(omp_default_mem_space, 3, others);
    EXPECT_NE(nullptr, omp_alloc(10, chained));
    EXPECT_NE(nullptr, omp_alloc(100, chained));
    EXPECT_EQ(nullptr, omp_alloc(500, chained));
    const omp_alloctrait_t small[] = {{omp_atk_pool_size, 10}};
    EXPECT_NE(nullptr, omp_alloc(500, omp_init_allocator(omp_default_mem_space, 1, small)));
    const omp_alloctrait_t odd[] = {{omp_atk_alignment, 24}};
    EXPECT_EQ(omp_null_allocator, omp_init_allocator(omp_default_mem_space, 1, odd));
    omp_destroy_allocator(chained);
  };
  EXPECT_EQ(0, run(body));
}

TEST_P(Devices, the_default_allocator_is_inherited) {
  const auto body = [] {
    EXPECT_EQ(omp_high_bw_mem_alloc, omp_get_default_allocator());
    const omp_alloctrait_t traits[] = {{omp_atk_pool_size, 64}, {omp_atk_fallback, omp_atv_null_fb}};
    const omp_allocator_handle_t pool = omp_init_allocator(omp_default_mem_space, 2, traits);
    omp_set_default_allocator(pool);
    int wrong = 0, got = 0;
#pragma omp parallel reduction(+ : wrong, got)
    {
      wrong += omp_get_default_allocator() != pool;
      got += omp_alloc(40, omp_null_allocator) != nullptr;
#pragma omp barrier
      omp_set_default_allocator(omp_large_cap_mem_alloc);
#pragma omp parallel num_threads(1) reduction(+ : wrong)
      wrong += omp_get_default_allocator() != omp_large_cap_mem_alloc;
    }
    EXPECT_EQ(0, wrong);
    EXPECT_EQ(1, got);
    omp_set_default_allocator(omp_null_allocator);
    EXPECT_EQ(omp_default_mem_alloc, omp_get_default_allocator());
  };
  EXPECT_EQ(0, run(body, {{"OMP_ALLOCATOR", "omp_high_bw_mem_alloc"}}));
}

std::string captured(const char* format) {
  char buffer[200];
  const size_t length = omp_capture_affinity(buffer, sizeof buffer, format);
  EXPECT_EQ(std::strlen(buffer), length);
  return buffer;
}

TEST_P(Devices, affinity_formats) {
  const auto body = [] {
    char buffer[30];
    EXPECT_EQ(7u, omp_get_affinity_format(buffer, sizeof buffer));
    EXPECT_STREQ("%L of %", buffer);
    EXPECT_EQ(7u, omp_get_affinity_format(buffer, 4));
    EXPECT_STREQ("%L ", buffer);
    omp_set_affinity_format("%n/%N");
    EXPECT_EQ("0/1", captured(nullptr));
    EXPECT_EQ("0/1", captured(""));
    EXPECT_EQ("[   0][0   ][0000]%", captured("[%.4n][%4{thread_num}][%0.4n]%%"));
    EXPECT_EQ("-1 0 1 0", captured("%a %t %{num_teams} %L"));
    EXPECT_EQ("-0001    -1", captured("%0.5a%.6a"));
    EXPECT_EQ("undefined", captured("%z"));
    EXPECT_EQ(std::to_string(getpid()), captured("%{process_id}"));
    EXPECT_NE("", captured("%H %i %A"));
    int wrong = 0;
#pragma omp parallel reduction(+ : wrong)
    {
      const std::string expected =
          std::to_string(omp_get_thread_num()) + "/" + std::to_string(omp_get_num_threads());
      wrong += captured(nullptr) != expected;
      wrong += captured("%L %a") != "1 0";
    }
    EXPECT_EQ(0, wrong);
  };
  EXPECT_EQ(0, run(body, {{"OMP_AFFINITY_FORMAT", "%L of %"}}));
}

}  // namespace
}  // namespace musubi::testing
