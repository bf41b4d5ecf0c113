// Ordinary OpenMP code, compiled by gcc against the GOMP interface of this library, over one and several
// ranks.
#include <gtest/gtest.h>
#include <omp.h>

#include "constructs.h"

namespace musubi::testing {
namespace {

INSTANTIATE_TEST_SUITE_P(Jobs, Constructs, all_shapes, shape_name);

TEST_P(Constructs, parallel_runs_every_thread_once) {
  const int threads = team();
  const auto body = [threads] {
    int seen[64] = {};
    int size = 0;
    pid_t process[64] = {};
    for (int repeat = 0; repeat < 20; ++repeat) {
#pragma omp parallel
      {
        seen[omp_get_thread_num()]++;
        process[omp_get_thread_num()] = getpid();
        if (omp_get_thread_num() == 0) size = omp_get_num_threads();
      }
    }
    EXPECT_EQ(threads, size);
    for (int i = 0; i < threads; ++i) EXPECT_EQ(20, seen[i]) << i;
    for (int i = threads; i < 64; ++i) EXPECT_EQ(0, seen[i]) << i;
    for (int i = 0; i < threads; ++i) {  // rank-major
      const int per_rank = static_cast<int>(GetParam().threads);
      EXPECT_EQ(process[i / per_rank * per_rank], process[i]);
    }
  };
  EXPECT_EQ(0, run(body));
}

TEST_P(Constructs, teams_of_every_size) {
  const auto body = [] {
    for (int size = 1; size <= 13; ++size) {
      int seen[64] = {};
      int sum = 0;
#pragma omp parallel num_threads(size) reduction(+ : sum)
      {
        seen[omp_get_thread_num()]++;
        sum += omp_get_num_threads();
#pragma omp barrier
        sum += seen[(omp_get_thread_num() + 1) % size];
      }
      EXPECT_EQ(size * size + size, sum) << size;
      for (int i = 0; i < 64; ++i) EXPECT_EQ(i < size ? 1 : 0, seen[i]) << i;
    }
  };
  EXPECT_EQ(0, run(body));
}

TEST_P(Constructs, barriers_separate_phases) {
  const auto body = [] {
    int values[64] = {};
    int wrong = 0;
#pragma omp parallel reduction(+ : wrong)
    {
      const int me = omp_get_thread_num(), all = omp_get_num_threads();
      for (int phase = 1; phase <= 200; ++phase) {
        values[me] = phase;
#pragma omp barrier
        for (int i = 0; i < all; ++i) wrong += values[i] != phase;
#pragma omp barrier
      }
    }
    EXPECT_EQ(0, wrong);
  };
  EXPECT_EQ(0, run(body));
}

template <class Body>
void check_every_iteration_once(const char* what, const Body& body) {
  constexpr int count = 1000;
  int* hits = shared_array<int>(count);
  body(hits, count);
  for (int i = 0; i < count; ++i) ASSERT_EQ(1, hits[i]) << what << " " << i;
}

TEST_P(Constructs, loops_of_every_schedule) {
  const auto body = [] {
    check_every_iteration_once("static", [](int* hits, int count) {
#pragma omp parallel for schedule(static)
      for (int i = 0; i < count; ++i) hits[i]++;
    });
    check_every_iteration_once("static,3", [](int* hits, int count) {
#pragma omp parallel for schedule(static, 3)
      for (int i = 0; i < count; ++i) hits[i]++;
    });
    check_every_iteration_once("dynamic", [](int* hits, int count) {
#pragma omp parallel for schedule(dynamic)
      for (int i = 0; i < count; ++i) hits[i]++;
    });
    check_every_iteration_once("monotonic dynamic,7", [](int* hits, int count) {
#pragma omp parallel for schedule(monotonic : dynamic, 7)
      for (int i = 0; i < count; ++i) hits[i]++;
    });
    check_every_iteration_once("guided", [](int* hits, int count) {
#pragma omp parallel for schedule(guided, 4)
      for (int i = count - 1; i >= 0; --i) hits[i]++;
    });
    for (int kind = 1; kind <= 4; ++kind) {
      omp_set_schedule(static_cast<omp_sched_t>(kind), 5);
      check_every_iteration_once("runtime", [](int* hits, int count) {
#pragma omp parallel for schedule(runtime)
        for (int i = 0; i < count; ++i) hits[i]++;
      });
    }
    check_every_iteration_once("orphaned, long step", [](int* hits, int count) {
#pragma omp parallel
#pragma omp for schedule(dynamic, 2)
      for (long i = 3 * (count - 1L); i >= 0; i -= 3) hits[i / 3]++;
    });
    check_every_iteration_once("unsigned long long", [](int* hits, int count) {
      const unsigned long long from = ~0ull - static_cast<unsigned long long>(count);
#pragma omp parallel for schedule(dynamic, 3)
      for (unsigned long long i = from; i < ~0ull; ++i) hits[i - from]++;
    });
    check_every_iteration_once("unsigned long long guided, downwards", [](int* hits, int count) {
      const unsigned long long from = static_cast<unsigned long long>(count) * 2;
#pragma omp parallel for schedule(guided)
      for (unsigned long long i = from; i > 0; i -= 2) hits[i / 2 - 1]++;
    });
    check_every_iteration_once("static ordered", [](int* hits, int count) {
#pragma omp parallel for ordered schedule(static, 4)
      for (int i = 0; i < count; ++i) hits[i]++;
    });
  };
  EXPECT_EQ(0, run(body));
}

TEST_P(Constructs, loop_at_the_end_of_long) {
  const auto body = [] {
    int* hits = shared_array<int>(64);
    const long top = 0x7fffffffffffffffL;
#pragma omp parallel for schedule(dynamic, 1000)
    for (long i = top - 40; i < top; ++i) {
#pragma omp atomic
      hits[top - i]++;
    }
    for (int i = 1; i <= 40; ++i) EXPECT_EQ(1, hits[i]) << i;
    int empty = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : empty)
    for (long i = 5; i < 5; ++i) empty++;
    EXPECT_EQ(0, empty);
  };
  EXPECT_EQ(0, run(body));
}

TEST_P(Constructs, nowait_loops_run_further_ahead_than_the_ring) {
  const auto body = [] {
    constexpr int loops = 700;
    int* hits = shared_array<int>(loops * 4);
#pragma omp parallel
    {
      if (omp_get_thread_num() == 1) usleep(20000);
      for (int l = 0; l < loops; ++l) {
#pragma omp for schedule(dynamic) nowait
        for (int i = 0; i < 4; ++i) hits[l * 4 + i]++;
      }
    }
    for (int i = 0; i < loops * 4; ++i) ASSERT_EQ(1, hits[i]) << i;
  };
  EXPECT_EQ(0, run(body));
}

TEST_P(Constructs, critical_excludes) {
  const auto body = [] {
    long unnamed = 0, named = 0, both = 0;
#pragma omp parallel
    for (int i = 0; i < 200; ++i) {
#pragma omp critical
      unnamed++;
#pragma omp critical(first)
      {
        named++;
#pragma omp critical(second)
        both++;
      }
    }
    EXPECT_EQ(200 * omp_get_max_threads(), unnamed);
    EXPECT_EQ(200 * omp_get_max_threads(), named);
    EXPECT_EQ(200 * omp_get_max_threads(), both);
  };
  EXPECT_EQ(0, run(body));
}

TEST_P(Constructs, single_and_copyprivate) {
  const auto body = [] {
    int executed = 0, wrong = 0;
#pragma omp parallel reduction(+ : wrong)
    for (int round = 0; round < 100; ++round) {
      int value = -1;
#pragma omp single nowait
      {
#pragma omp atomic
        executed++;
      }
#pragma omp single copyprivate(value)
      value = round * 7;
      wrong += value != round * 7;
    }
    EXPECT_EQ(100, executed);
    EXPECT_EQ(0, wrong);
  };
  EXPECT_EQ(0, run(body));
}

// The first thread does not arrive before another thread has run the block.
TEST_P(Constructs, a_single_goes_to_the_first_to_come) {
  const auto body = [] {
    int runs = 0, wrong = 0;
#pragma omp parallel reduction(+ : wrong)
    for (int round = 1; round <= 40; ++round) {
      const bool late = omp_get_thread_num() == 0 && omp_get_num_threads() > 1;
      while (late && __atomic_load_n(&runs, __ATOMIC_SEQ_CST) < 2 * round - 1) sched_yield();
      int runner = -1;
#pragma omp single copyprivate(runner)
      {
        runner = omp_get_thread_num();
        __atomic_add_fetch(&runs, 1, __ATOMIC_SEQ_CST);
      }
      wrong += runner == -1 || (runner == 0 && omp_get_num_threads() > 1);
      while (late && __atomic_load_n(&runs, __ATOMIC_SEQ_CST) < 2 * round) sched_yield();
#pragma omp single nowait
      __atomic_add_fetch(&runs, 1, __ATOMIC_SEQ_CST);
    }
    EXPECT_EQ(80, runs);
    EXPECT_EQ(0, wrong);
  };
  EXPECT_EQ(0, run(body));
}

TEST_P(Constructs, sections_each_once) {
  const auto body = [] {
    int hits[5] = {};
    for (int repeat = 0; repeat < 20; ++repeat) {
#pragma omp parallel sections
      {
#pragma omp section
        hits[0]++;
#pragma omp section
        hits[1]++;
#pragma omp section
        hits[2]++;
      }
#pragma omp parallel
#pragma omp sections
      {
#pragma omp section
        hits[3]++;
#pragma omp section
        hits[4]++;
      }
    }
    for (int i = 0; i < 5; ++i) EXPECT_EQ(20, hits[i]) << i;
  };
  EXPECT_EQ(0, run(body));
}

TEST_P(Constructs, ordered_keeps_the_order) {
  const auto body = [] {
    int wrong = 0;
    int next = 0;
#pragma omp parallel for ordered schedule(dynamic, 2)
    for (int i = 0; i < 100; ++i) {
#pragma omp ordered
      wrong += next++ != i;
    }
    EXPECT_EQ(0, wrong);
    next = 0;
#pragma omp parallel for ordered schedule(static, 3)
    for (int i = 0; i < 100; ++i) {
      if (i % 2 == 0) {  // half of the iterations have no ordered region
#pragma omp ordered
        {
          wrong += next != i;
          next += 2;
        }
      }
    }
    EXPECT_EQ(0, wrong);
    next = 99;
#pragma omp parallel for ordered schedule(guided)
    for (int i = 99; i >= 0; --i) {
#pragma omp ordered
      wrong += next-- != i;
    }
    EXPECT_EQ(0, wrong);
  };
  EXPECT_EQ(0, run(body));
}

TEST_P(Constructs, doacross_waits_for_its_sources) {
  const auto body = [] {
    constexpr int rows = 40, columns = 20;
    long* cells = shared_array<long>((rows + 1) * (columns + 1));
    const auto at = [cells](int i, int j) -> long& { return cells[i * (columns + 1) + j]; };
    for (int j = 0; j <= columns; ++j) at(0, j) = 1;
    for (int i = 0; i <= rows; ++i) at(i, 0) = 1;
#pragma omp parallel for ordered(2) schedule(dynamic)
    for (int i = 1; i <= rows; ++i) {
      for (int j = 1; j <= columns; ++j) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
        at(i, j) = (at(i - 1, j) + at(i, j - 1)) % 1000003;
#pragma omp ordered depend(source)
      }
    }
    long wrong = 0;
    for (int i = 1; i <= rows; ++i) {
      for (int j = 1; j <= columns; ++j) wrong += at(i, j) != (at(i - 1, j) + at(i, j - 1)) % 1000003;
    }
    EXPECT_EQ(0, wrong);
    long* chain = shared_array<long>(3000);
#pragma omp parallel
    {
#pragma omp for ordered(1) schedule(static, 1)
      for (int i = 1; i < 1500; ++i) {
#pragma omp ordered depend(sink : i - 1)
        chain[i] = chain[i - 1] + 1;
#pragma omp ordered depend(source)
      }
#pragma omp for ordered(1)
      for (int i = 1500; i < 1600; ++i) {
#pragma omp ordered depend(sink : i - 1)
        chain[i] = chain[i - 1] + 1;
#pragma omp ordered depend(source)
      }
    }
    EXPECT_EQ(1599, chain[1599]);
  };
  EXPECT_EQ(0, run(body));
}

TEST_P(Constructs, doacross_of_ten_loops) {
  const auto body = [] {
    int* order = shared_array<int>(4 * 3 * 2);
    int next = 0;
#pragma omp parallel for ordered(10) schedule(dynamic) collapse(1)
    for (int a = 0; a < 4; ++a)
      for (int b = 0; b < 1; ++b)
        for (int c = 0; c < 3; ++c)
          for (int d = 0; d < 1; ++d)
            for (int e = 0; e < 1; ++e)
              for (int f = 0; f < 1; ++f)
                for (int g = 0; g < 1; ++g)
                  for (int h = 0; h < 1; ++h)
                    for (int i = 0; i < 1; ++i)
                      for (int j = 0; j < 2; ++j) {
#pragma omp ordered depend(sink : a - 1, b, c, d, e, f, g, h, i, j)
                        order[(a * 3 + c) * 2 + j] = a == 0 ? 1 : order[((a - 1) * 3 + c) * 2 + j] + 1;
#pragma omp ordered depend(source)
                        __atomic_add_fetch(&next, 1, __ATOMIC_RELAXED);
                      }
    EXPECT_EQ(24, next);
    for (int k = 0; k < 24; ++k) EXPECT_EQ(k / 6 + 1, order[k]) << k;
  };
  EXPECT_EQ(0, run(body));
}

TEST_P(Constructs, reductions) {
  const auto body = [] {
    long sum = 0, product = 1;
    double dsum = 0;
    long double wide = 0;
    int all = 1, largest = -1;
#pragma omp parallel for reduction(+ : sum, dsum, wide) reduction(* : product) reduction(&& : all) \
    reduction(max : largest)
    for (int i = 1; i <= 1000; ++i) {
      sum += i;
      dsum += 0.5;
      wide += 1;
      if (i <= 10) product *= i;
      all = all && i > 0;
      largest = i > largest ? i : largest;
    }
    EXPECT_EQ(500500, sum);
    EXPECT_EQ(500.0, dsum);
    EXPECT_EQ(1000.0L, wide);
    EXPECT_EQ(3628800, product);
    EXPECT_EQ(1, all);
    EXPECT_EQ(1000, largest);
    int last = 0;
#pragma omp parallel for lastprivate(last) schedule(dynamic, 3)
    for (int i = 0; i < 100; ++i) last = i;
    EXPECT_EQ(99, last);
  };
  EXPECT_EQ(0, run(body));
}

}  // namespace
}  // namespace musubi::testing
