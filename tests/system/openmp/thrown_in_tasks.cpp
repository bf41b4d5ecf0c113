// Exceptions inside regions, loops, critical blocks and tasks: thrown and caught in the same one, through
// frames with destructors, while other threads do the same; a pointer to one leaves the region.
#include <atomic>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "check.h"

namespace {

std::atomic<long> unwound;

struct Frame {
  ~Frame() { ++unwound; }
};

long descend(int levels, int number) {
  const Frame frame;
  if (levels == 0) {
    if (number % 3 == 0) throw std::out_of_range("number " + std::to_string(number));
    if (number % 3 == 1) throw number;
    return number;
  }
  return descend(levels - 1, number);
}

long caught(int number) {
  try {
    return descend(number % 7, number);
  } catch (const std::exception& error) {
    CHECK(error.what() == "number " + std::to_string(number));
    return 1000;
  } catch (int thrown) {
    CHECK(thrown == number);
    return 2000;
  }
}

long expected_of(int count) {
  long sum = 0;
  for (int i = 0; i < count; ++i) sum += i % 3 == 0 ? 1000 : i % 3 == 1 ? 2000 : i;
  return sum;
}

long throw_in_loops(int count) {
  long sum = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : sum)
  for (int i = 0; i < count; ++i) sum += caught(i);
  return sum;
}

long throw_in_tasks(int count) {
  std::vector<long> results(static_cast<std::size_t>(count));
#pragma omp parallel
#pragma omp single
  for (int i = 0; i < count; ++i) {
#pragma omp task firstprivate(i) shared(results)
    {
      long& result = results[static_cast<std::size_t>(i)];
#pragma omp task firstprivate(i) shared(result)
      result = caught(i);
#pragma omp taskwait
      try {
        if (result == 1000) throw std::string("again");
      } catch (const std::string& text) {
        result += static_cast<long>(text.size()) - 5;
      }
    }
  }
  long sum = 0;
  for (const long result : results) sum += result;
  return sum;
}

long throw_in_critical(int count) {
  long sum = 0;
#pragma omp parallel for
  for (int i = 0; i < count; ++i) {
#pragma omp critical(sum)
    sum += caught(i);
  }
  return sum;
}

// The first exception of the loop, for the thread that opened the region.
void rethrow_first() {
  std::exception_ptr first;
#pragma omp parallel for
  for (int i = 0; i < 50; ++i) {
    try {
      descend(2, i);
    } catch (...) {
#pragma omp critical(first)
      if (first == nullptr) first = std::current_exception();
    }
  }
  std::rethrow_exception(first);
}

}  // namespace

int main() {
  const int count = 200;
  CHECK(throw_in_loops(count) == expected_of(count));
  CHECK(throw_in_tasks(count) == expected_of(count));
  CHECK(throw_in_critical(count) == expected_of(count));
  long frames = 0;
  for (int i = 0; i < count; ++i) frames += i % 7 + 1;
  CHECK(unwound == 3 * frames);
  bool thrown = false;
  try {
    rethrow_first();
  } catch (const std::out_of_range& error) {
    thrown = std::string(error.what()).rfind("number ", 0) == 0;
  } catch (int number) {
    thrown = number % 3 == 1;
  }
  CHECK(thrown);
  puts("thrown_in_tasks: passed");
  return 0;
}
