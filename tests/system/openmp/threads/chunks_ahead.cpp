// A thread of the program makes chunks of input ahead, a team of OpenMP works on them, and another thread
// writes the results to a file, all at the same time. Usage: chunks_ahead [chunks] [numbers of a chunk].
#include <omp.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "thread_team.h"

namespace {

template <typename Value>
class Channel {
 public:
  void put(Value value) {
    std::unique_lock hold(guard_);
    changed_.wait(hold, [this] { return values_.size() < 3; });
    values_.push_back(std::move(value));
    changed_.notify_all();
  }
  Value take() {
    std::unique_lock hold(guard_);
    changed_.wait(hold, [this] { return !values_.empty(); });
    Value value = std::move(values_.front());
    values_.pop_front();
    changed_.notify_all();
    return value;
  }

 private:
  std::mutex guard_;
  std::condition_variable changed_;
  std::deque<Value> values_;
};

Channel<std::vector<long>> input;
Channel<std::string> output;
int chunks, length;

void make_input() {
  for (int chunk = 0; chunk < chunks; ++chunk) {
    std::vector<long> numbers;
    for (int i = 0; i < length; ++i) numbers.push_back(static_cast<long>(chunk) * length + i);
    input.put(std::move(numbers));
  }
}

void write_output(const std::string& path) {
  std::ofstream file(path);
  for (int chunk = 0; chunk < chunks; ++chunk) file << output.take() << '\n';
  CHECK(file.good());
}

void work() {
  for (int chunk = 0; chunk < chunks; ++chunk) {
    std::vector<long> numbers = input.take();
    long odd = 0, sum = 0;
#pragma omp parallel for reduction(+ : odd, sum) schedule(static, 16)
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      odd += numbers[i] % 2;
      numbers[i] *= numbers[i];
      sum += numbers[i] % 1000;
    }
    output.put(std::to_string(odd) + " " + std::to_string(sum));
  }
}

void check(const std::string& path) {
  std::ifstream file(path);
  for (long chunk = 0; chunk < chunks; ++chunk) {
    long odd = 0, sum = 0, odd_there = -1, sum_there = -1;
    for (long number = chunk * length; number < (chunk + 1) * length; ++number) {
      odd += number % 2;
      sum += number * number % 1000;
    }
    file >> odd_there >> sum_there;
    CHECK(odd == odd_there && sum == sum_there);
  }
}

}  // namespace

int main(int argc, char** argv) {
  chunks = number_of(argc, argv, 1, 20, 1 << 20);
  length = number_of(argc, argv, 2, 1000, 1 << 24);
  const std::string path = "/tmp/chunks_ahead." + std::to_string(getpid());
  const double start = seconds();
  std::thread maker(make_input), writer(write_output, path);
  work();
  maker.join();
  writer.join();
  check(path);
  unlink(path.c_str());
  printf("chunks_ahead: %d chunks, %d threads of OpenMP, time %.6f s\n", chunks, omp_get_max_threads(),
         seconds() - start);
  return 0;
}
