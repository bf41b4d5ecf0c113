// Threads that join by themselves and end when they are asked to: std::jthread with stop tokens, callbacks
// and conditions that end with them. Usage: stop_tokens [threads] [items].
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "thread_team.h"

namespace {

std::mutex guard;
std::condition_variable_any filled;
std::deque<int> items;
long handled, stopped, called;

// Handles items until the queue is empty and a stop is requested.
void handle_items(std::stop_token stop) {
  for (;;) {
    std::unique_lock hold(guard);
    if (!filled.wait(hold, stop, [] { return !items.empty(); })) {
      ++stopped;
      return;
    }
    handled += items.front();
    items.pop_front();
  }
}

void handle_all(int threads, int count) {
  {
    std::vector<std::jthread> workers;
    for (int i = 0; i < threads; ++i) workers.emplace_back(handle_items);
    for (int i = 1; i <= count; ++i) {
      const std::lock_guard hold(guard);
      items.push_back(i);
      filled.notify_one();
    }
  }  // asks the workers to stop, and joins them
  CHECK(handled == static_cast<long>(count) * (count + 1) / 2);
  CHECK(stopped == threads && items.empty());
}

// One source for all; the thread that asks calls the callbacks that are still there.
void stop_together(int threads) {
  std::stop_source source;
  std::vector<long> rounds(static_cast<std::size_t>(threads));
  std::vector<std::jthread> workers;
  for (long& own : rounds) {
    workers.emplace_back([&own, stop = source.get_token()] {
      const std::stop_callback count_call(stop, [] {
        const std::lock_guard hold(guard);
        ++called;
      });
      for (; !stop.stop_requested(); std::this_thread::sleep_for(std::chrono::microseconds(200))) ++own;
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(source.request_stop() && !source.request_stop());
  for (std::jthread& worker : workers) worker.join();
  CHECK(called <= threads);
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = number_of(argc, argv, 1, 4, team_max), count = number_of(argc, argv, 2, 200, 1 << 24);
  const double start = seconds();
  handle_all(threads, count);
  stop_together(threads);
  printf("stop_tokens: %d items, %d threads, time %.6f s\n", count, threads, seconds() - start);
  return 0;
}
