// Tasks, and C++ inside regions, as each compiler translates them: see compiled_constructs.c.
#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include "check.h"

namespace {

int fibonacci(int n) {
  if (n < 2) return n;
  int a, b;
#pragma omp task shared(a) if (n > 8)
  a = fibonacci(n - 1);
#pragma omp task shared(b) final(n < 6) mergeable
  b = fibonacci(n - 2);
#pragma omp taskwait
  return a + b;
}

void trees() {
  int result = 0;
#pragma omp parallel
#pragma omp single
  result = fibonacci(16);
  CHECK(result == 987);
}

// Objects with destructors are copied into tasks, and destroyed after them.
struct Counted {
  static std::atomic<int> alive;

  explicit Counted(int of_value) : value(of_value) { ++alive; }
  Counted(const Counted& other) : value(other.value) { ++alive; }
  ~Counted() { --alive; }
  Counted& operator=(const Counted&) = default;

  int value;
};
std::atomic<int> Counted::alive{0};

void objects() {
  long sum = 0;
  {
    const Counted seven(7);
    std::string text = "a string that is too long for its object";
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 30; ++i) {
#pragma omp task firstprivate(seven, text) shared(sum)
      {
#pragma omp atomic
        sum += seven.value + static_cast<long>(text.size());
      }
    }
  }
  CHECK(sum == 30 * 47);
  CHECK(Counted::alive == 0);
}

void untied() {
  int sum = 0;
#pragma omp parallel
#pragma omp single
  for (int i = 0; i < 20; ++i) {
#pragma omp task untied shared(sum) firstprivate(i) if (i % 2 == 0)
    {
      int part = i;
#pragma omp task shared(part)
      part += 1;
#pragma omp taskwait
#pragma omp taskyield
#pragma omp atomic
      sum += part;
    }
  }
  CHECK(sum == 210);
}

void dependences() {
  int value = 0, mistakes = 0;
#pragma omp parallel
#pragma omp single
  {
#pragma omp task depend(out : value) shared(value)
    value = 1;
#pragma omp task depend(inout : value) shared(value)
    value = value * 10 + 2;
#pragma omp task depend(in : value) shared(value, mistakes)
    if (value != 12) {
#pragma omp atomic
      ++mistakes;
    }
#pragma omp task depend(in : value) shared(value, mistakes) if (0)
    if (value != 12) {
#pragma omp atomic
      ++mistakes;
    }
#pragma omp taskwait depend(in : value)
    CHECK(value == 12);
  }
  CHECK(mistakes == 0);
}

void loops() {
  long sum = 0, grown = 0;
  int last = -1;
  std::vector<int> marks(500);
#pragma omp parallel
#pragma omp single
  {
#pragma omp taskloop grainsize(7) lastprivate(last)
    for (int i = 0; i < 500; ++i) {
      marks[static_cast<std::size_t>(i)] += 1;
      last = i;
    }
#pragma omp taskloop num_tasks(11) reduction(+ : sum)
    for (long i = 499; i >= 0; i -= 2) sum += i;
#pragma omp taskgroup task_reduction(+ : grown)
    {
#pragma omp taskloop in_reduction(+ : grown) nogroup
      for (unsigned i = 0; i < 100; ++i) grown += i;
#pragma omp task in_reduction(+ : grown)
      grown += 50;
    }
  }
  for (const int mark : marks) CHECK(mark == 1);
  CHECK(last == 499 && sum == 62500 && grown == 5000);
}

void reductions_over_tasks() {
  int sum = 0, of_loop = 0;
#pragma omp parallel reduction(task, + : sum)
  {
#pragma omp task in_reduction(+ : sum)
    sum += 3;
    sum += 1;
  }
  CHECK(sum == 4 * omp_get_max_threads());
#pragma omp parallel
#pragma omp for reduction(task, + : of_loop)
  for (int i = 0; i < 20; ++i) {
#pragma omp task in_reduction(+ : of_loop)
    of_loop += i;
  }
  CHECK(of_loop == 190);
}

void exceptions() {
  int caught = 0, thrown = 0;
#pragma omp parallel
  {
    try {
#pragma omp critical(throwing)
      {
        try {
          throw std::runtime_error("inside");
        } catch (const std::logic_error&) {
        } catch (const std::exception& error) {
          if (std::string(error.what()) == "inside") ++caught;
        }
      }
      throw 5;
    } catch (int five) {
#pragma omp atomic
      thrown += five - 4;
    }
  }
  CHECK(caught == omp_get_max_threads() && thrown == caught);
}

// With thread-local storage or a call of the runtime for each use.
struct Own {
  Own() : value(11) {}
  int value;
};
extern Own own;
#pragma omp threadprivate(own)
Own own;

void own_objects() {
  int mistakes = 0;
#pragma omp parallel reduction(+ : mistakes)
  {
    mistakes += own.value != 11;
    own.value += omp_get_thread_num();
  }
#pragma omp parallel reduction(+ : mistakes)
  mistakes += own.value != 11 + omp_get_thread_num();
  CHECK(mistakes == 0);
}

}  // namespace

int main() {
  trees();
  objects();
  untied();
  dependences();
  loops();
  reductions_over_tasks();
  exceptions();
  own_objects();
  puts("verified");
  return 0;
}
