// Results that arrive later: std::async over halves of a range, promises, packaged tasks, shared futures, and
// exceptions that a future carries to the thread that waits. Usage: futures [numbers] [smallest part for one
// thread].
#include <chrono>
#include <future>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "thread_team.h"

namespace {

long part_min;

long sum_of_squares(const std::vector<int>& numbers, std::size_t first, std::size_t end) {
  if (end - first <= static_cast<std::size_t>(part_min)) {
    long sum = 0;
    for (std::size_t i = first; i < end; ++i) sum += static_cast<long>(numbers[i]) * numbers[i];
    return sum;
  }
  const std::size_t middle = first + (end - first) / 2;
  std::future<long> half = std::async(std::launch::async, sum_of_squares, std::cref(numbers), first, middle);
  const long other = sum_of_squares(numbers, middle, end);
  return half.get() + other;
}

void check_promises() {
  std::promise<std::string> asked;
  std::promise<std::vector<int>> answered;
  std::future<std::vector<int>> answer = answered.get_future();
  std::thread other([question = asked.get_future(), &answered]() mutable {
    const std::string text = question.get();
    answered.set_value(std::vector<int>(text.begin(), text.end()));
  });
  CHECK(answer.wait_for(std::chrono::seconds(0)) == std::future_status::timeout);
  asked.set_value("a long enough text for memory of its own");
  CHECK(answer.get().size() == 40);
  other.join();
}

void check_packaged_tasks() {
  std::packaged_task<int(int)> task([](int number) { return number * number; });
  std::future<int> result = task.get_future();
  std::thread other(std::move(task), 12);
  CHECK(result.get() == 144);
  other.join();
}

void check_shared_futures() {
  std::promise<long> start;
  const std::shared_future<long> started = start.get_future().share();
  std::vector<std::future<long>> results;
  for (long i = 0; i < 5; ++i)
    results.push_back(std::async(std::launch::async, [started, i] { return started.get() * i; }));
  start.set_value(7);
  for (long i = 0; i < 5; ++i) CHECK(results[static_cast<std::size_t>(i)].get() == 7 * i);
}

void check_exceptions() {
  std::future<int> failing =
      std::async(std::launch::async, []() -> int { throw std::runtime_error("from another thread"); });
  std::string text;
  try {
    failing.get();
  } catch (const std::runtime_error& error) {
    text = error.what();
  }
  CHECK(text == "from another thread");
  std::future<int> broken = std::promise<int>().get_future();
  bool is_broken = false;
  try {
    broken.get();
  } catch (const std::future_error& error) {
    is_broken = error.code() == std::future_errc::broken_promise;
  }
  CHECK(is_broken);
}

}  // namespace

int main(int argc, char** argv) {
  const int count = number_of(argc, argv, 1, 40000, 1 << 30);
  part_min = number_of(argc, argv, 2, 5000, 1 << 30);
  std::vector<int> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  const double start = seconds();
  const long sum = sum_of_squares(numbers, 0, numbers.size()), n = count - 1;
  const double time = seconds() - start;
  CHECK(sum == n * (n + 1) / 2 * (2 * n + 1) / 3);
  check_promises();
  check_packaged_tasks();
  check_shared_futures();
  check_exceptions();
  printf("futures: %d numbers, time %.6f s\n", count, time);
  return 0;
}
