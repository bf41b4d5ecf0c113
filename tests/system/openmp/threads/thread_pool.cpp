// A pool of threads with a deque each: a worker takes the newest of its own jobs, or the oldest of another
// one's. The jobs add up a binary tree and make further jobs. Usage: thread_pool [threads] [levels].
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "thread_team.h"

namespace {

class Pool {
 public:
  explicit Pool(int size) : workers_(static_cast<std::size_t>(size)) {
    for (std::size_t i = 0; i < workers_.size(); ++i) workers_[i].thread = std::thread(&Pool::run, this, i);
  }
  ~Pool() {
    {
      const std::lock_guard hold(guard_);
      ending_ = true;
    }
    changed_.notify_all();
    for (Worker& worker : workers_) worker.thread.join();
  }

  void add(std::function<void()> job) {
    Worker& worker = workers_[own_];
    {
      const std::lock_guard hold(worker.guard);
      worker.jobs.push_back(std::move(job));
    }
    {
      const std::lock_guard hold(guard_);
      ++waiting_;
    }
    changed_.notify_one();
  }

 private:
  struct Worker {
    std::deque<std::function<void()>> jobs;
    std::mutex guard;
    std::thread thread;
  };

  std::function<void()> take() {
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      Worker& worker = workers_[(own_ + i) % workers_.size()];
      const std::lock_guard hold(worker.guard);
      if (worker.jobs.empty()) continue;
      std::function<void()> job = std::move(i == 0 ? worker.jobs.back() : worker.jobs.front());
      i == 0 ? worker.jobs.pop_back() : worker.jobs.pop_front();
      return job;
    }
    return nullptr;
  }

  void run(std::size_t me) {
    own_ = me;
    for (;;) {
      {
        std::unique_lock hold(guard_);
        changed_.wait(hold, [this] { return waiting_ > 0 || ending_; });
        if (waiting_ == 0) return;
        --waiting_;
      }
      // A job lies in one of the deques, though others may take it and leave a later one.
      std::function<void()> job;
      while (job == nullptr) job = take();
      job();
    }
  }

  std::vector<Worker> workers_;
  std::mutex guard_;
  std::condition_variable changed_;
  long waiting_ = 0;
  bool ending_ = false;
  static thread_local std::size_t own_;
};

thread_local std::size_t Pool::own_ = 0;

struct Sum {
  std::atomic<long> value = 0;
  std::atomic<long> jobs = 1;
};

// Adds 2^level.
void add_tree(Pool& pool, Sum& sum, int level) {
  if (level == 0) {
    ++sum.value;
  } else {
    sum.jobs += 2;
    for (int i = 0; i < 2; ++i) pool.add([&pool, &sum, level] { add_tree(pool, sum, level - 1); });
  }
  if (--sum.jobs == 0) sum.jobs.notify_all();
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = number_of(argc, argv, 1, 4, team_max), levels = number_of(argc, argv, 2, 7, 24);
  Sum sum;
  const double start = seconds();
  {
    Pool pool(threads);
    pool.add([&] { add_tree(pool, sum, levels); });
    for (long left = sum.jobs; left != 0; left = sum.jobs) sum.jobs.wait(left);
  }
  CHECK(sum.value == 1L << levels);
  printf("thread_pool: %ld leaves, %d threads, time %.6f s\n", sum.value.load(), threads, seconds() - start);
  return 0;
}
