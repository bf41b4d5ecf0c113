// The calls that gcc before 4.9 emitted: a region in two halves.
#include <gtest/gtest.h>

#include "standin_runtime.h"

extern "C" {
void GOMP_parallel_start(void (*function)(void*), void* data, unsigned threads);
void GOMP_parallel_end();
void GOMP_parallel_loop_dynamic_start(void (*function)(void*), void* data, unsigned threads, long start,
                                      long end, long step, long chunk);
void GOMP_parallel_sections_start(void (*function)(void*), void* data, unsigned threads, unsigned count);
bool GOMP_loop_dynamic_next(long* first, long* end);
unsigned GOMP_sections_next();
void GOMP_loop_end_nowait();
void GOMP_sections_end_nowait();
int omp_get_thread_num();
int omp_get_num_threads();
int omp_get_level();
int omp_get_ancestor_thread_num_(const int* level);
void omp_set_num_threads_(const int* threads);
int omp_get_max_threads_();
}

namespace musubi::testing {
namespace {

struct Data {
  int threads[16] = {};
  int hits[100] = {};
  int sections[4] = {};
};

void in_region(void* argument) {
  static_cast<Data*>(argument)->threads[omp_get_thread_num()] = omp_get_num_threads();
}

void in_loop(void* argument) {
  long first, end;
  while (GOMP_loop_dynamic_next(&first, &end)) {
    for (long i = first; i < end; ++i) static_cast<Data*>(argument)->hits[i]++;
  }
  GOMP_loop_end_nowait();
}

void in_sections(void* argument) {
  while (const unsigned section = GOMP_sections_next()) static_cast<Data*>(argument)->sections[section]++;
  GOMP_sections_end_nowait();
}

TEST(OldInterface, regions_in_two_halves) {
  const auto body = [] {
    Data data;
    GOMP_parallel_start(&in_region, &data, 5);
    in_region(&data);
    EXPECT_EQ(1, omp_get_level());
    GOMP_parallel_end();
    EXPECT_EQ(0, omp_get_level());
    GOMP_parallel_loop_dynamic_start(&in_loop, &data, 0, 0, 100, 1, 3);
    in_loop(&data);
    GOMP_parallel_end();
    GOMP_parallel_sections_start(&in_sections, &data, 0, 3);
    in_sections(&data);
    GOMP_parallel_end();
    for (int i = 0; i < 16; ++i) EXPECT_EQ(i < 5 ? 5 : 0, data.threads[i]);
    for (const int hits : data.hits) EXPECT_EQ(1, hits);
    for (int i = 1; i <= 3; ++i) EXPECT_EQ(1, data.sections[i]);
  };
  EXPECT_EQ(0, run_job({2, 2, {}}, body));
  EXPECT_EQ(0, run_job({1, 1, {}}, body));
}

TEST(OldInterface, fortran_names) {
  const auto body = [] {
    const int three = 3, zero = 0;
    omp_set_num_threads_(&three);
    EXPECT_EQ(3, omp_get_max_threads_());
    EXPECT_EQ(0, omp_get_ancestor_thread_num_(&zero));
  };
  EXPECT_EQ(0, run_job({1, 1, {}}, body));
}

}  // namespace
}  // namespace musubi::testing
