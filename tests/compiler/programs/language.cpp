// What C++ programs do to memory: it prints the same with checks and without.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "recorder.h"

namespace {

struct Guard {
  explicit Guard(std::vector<double>& all) : values(all) {}
  ~Guard() {
    synchronise();
    std::fill(values.begin(), values.begin() + 1000, 1.5);
  }
  std::vector<double>& values;
};

double at_or_throw(double value) {
  if (value == 1000) synchronise();
  if (value > 2000) throw std::runtime_error("too large");
  return value * 2;
}

// Leaves the loop in its middle, by an exception, and fills while it unwinds.
double unwind(std::vector<double>& values) {
  try {
    const Guard guard(values);
    for (double& value : values) value = at_or_throw(value);
  } catch (const std::runtime_error& error) {
    std::printf("%s\n", error.what());
  }
  return std::accumulate(values.begin(), values.end(), 0.0);
}

struct Problem {
  double numbers[30];
  int line;
};

// An exception that is an object, changed on its way and thrown again.
double rethrow(std::vector<double>& values, int depth) {
  try {
    if (depth == 0) {
      Problem problem{};
      problem.numbers[7] = values[3];
      throw problem;
    }
    values[depth] += rethrow(values, depth - 1);
  } catch (Problem& problem) {
    synchronise();
    problem.numbers[depth] += values[depth];
    problem.line = depth;
    if (depth < 5) throw;
    return problem.numbers[7] + problem.line + problem.numbers[3];
  }
  return 0;
}

class Shape {
 public:
  virtual ~Shape() = default;
  virtual double area(size_t i) const { return sizes_[i % 1000]; }

 protected:
  std::vector<double> sizes_ = std::vector<double>(1000, 2.0);
};

class Square : public Shape {
 public:
  double area(size_t i) const override { return sizes_[i % 1000] * sizes_[i % 1000]; }
};

double by_threads() {
  std::vector<double> shared(40000, 0);
  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (size_t i = 10000 * t; i < 10000 * (t + 1); ++i) shared[i] = static_cast<double>(i);
      ready.fetch_add(1, std::memory_order_release);
    });
  for (std::thread& thread : threads) thread.join();
  return std::accumulate(shared.begin(), shared.end(), 0.0) + ready.load();
}

}  // namespace

int main() {
  std::vector<double> values(4000);
  std::iota(values.begin(), values.end(), 0.0);
  synchronise();
  std::printf("unwind %g\n", unwind(values));
  std::printf("rethrow %g\n", rethrow(values, 5));
  std::sort(values.begin(), values.end(), [](double a, double b) { return a > b; });
  std::printf("sorted %g %g\n", values.front(), values[2500]);
  std::map<std::string, std::vector<int>> lists;
  for (int i = 0; i < 3000; ++i) lists[std::to_string(i % 7)].push_back(i);
  synchronise();
  for (auto& [name, list] : lists)
    std::printf("%s %d\n", name.c_str(), std::accumulate(list.begin(), list.end(), 0));
  const Square square;
  const Shape& shape = square;
  double sum = 0;
  for (size_t i = 0; i < 5000; ++i) sum += shape.area(i);
  std::printf("virtual %g\n", sum);
  std::printf("threads %g\n", by_threads());
  synchronise();
  std::vector<double> copy = values;
  std::vector<double> moved = std::move(copy);
  moved.resize(9000, 3.0);
  std::printf("vectors %g\n", std::accumulate(moved.begin(), moved.end(), 0.0));
}
