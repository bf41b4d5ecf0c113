// Target regions on the host, leagues, allocators and affinity formats; their threads are on all ranks.
#include "check.h"

enum { size = 20000 };
static double sums[size];

static void use_target(void) {
  double* memory = (double*)omp_target_alloc(size * sizeof(double), omp_get_initial_device());
  CHECK(memory != NULL);
  int offset = 3;
  struct {
    int values[500];
  } block;
  for (int i = 0; i < 500; ++i) block.values[i] = i;
#pragma omp target data map(tofrom : sums)
  {
#pragma omp target is_device_ptr(memory) firstprivate(offset, block)
    {
      offset++;
#pragma omp parallel for
      for (int i = 0; i < size; ++i) memory[i] = offset + block.values[i % 500];
      block.values[0] = -1;
    }
#pragma omp target teams distribute parallel for num_teams(3) is_device_ptr(memory)
    for (int i = 0; i < size; ++i) sums[i] = 2 * memory[i];
#pragma omp target update from(sums)
  }
  CHECK(offset == 3 && block.values[0] == 0);
  for (int i = 0; i < size; ++i) CHECK(sums[i] == 2.0 * (4 + i % 500));
  omp_target_free(memory, omp_get_initial_device());
}

// In a teams region itself the compiler refuses the query.
static int threads_of_this_team(void) {
  return omp_get_max_threads();
}

static void use_leagues(void) {
  static int members[3], expected[3];
  memset(members, 0, sizeof members);
#pragma omp teams num_teams(3)
  {
    const int team = omp_get_team_num();
    expected[team] = threads_of_this_team();
#pragma omp parallel
    {
      if (omp_get_team_num() == team && omp_get_num_teams() == 3) {
#pragma omp atomic
        members[team]++;
      }
    }
  }
  for (int i = 0; i < 3; ++i) CHECK(expected[i] >= 1 && members[i] == expected[i]);
}

static void use_allocators(void) {
  const omp_alloctrait_t traits[] = {{omp_atk_pool_size, 1160}, {omp_atk_fallback, omp_atv_null_fb}};
  const omp_allocator_handle_t pool = omp_init_allocator(omp_default_mem_space, 2, traits);
  CHECK(pool != omp_null_allocator);
  for (int round = 0; round < 20; ++round) {
    int got = 0;
    int* parts[10] = {NULL};
    omp_set_default_allocator(pool);
#pragma omp parallel
    {
      CHECK(omp_get_default_allocator() == pool);
      for (int i = 0; i < 8; ++i) {
        int* memory = (int*)omp_alloc(200, omp_null_allocator);
        if (memory == NULL) continue;
        memory[49] = omp_get_thread_num();
#pragma omp critical
        parts[got++] = memory;
      }
    }
    CHECK(got == 5);
    for (int i = 0; i < got; ++i) CHECK(parts[i][49] >= 0 && parts[i][49] < omp_get_max_threads());
      // Freed by other threads than those that allocated.
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < 5; ++i) omp_free(parts[i], pool);
  }
  omp_set_default_allocator(omp_default_mem_alloc);
  omp_destroy_allocator(pool);
}

static void use_formats(void) {
  omp_set_affinity_format("%{thread_num} of %N");
#pragma omp parallel
  {
    char expected[50], text[50];
    snprintf(expected, sizeof expected, "%d of %d", omp_get_thread_num(), omp_get_num_threads());
    CHECK(omp_capture_affinity(text, sizeof text, NULL) == strlen(expected));
    CHECK(strcmp(text, expected) == 0);
  }
}

int main(void) {
  use_target();
  use_leagues();
  use_allocators();
  use_formats();
  return 0;
}
