#include "runtime/threads/alarms.h"

#include <signal.h>

#include "os/clock.h"
#include "runtime/threads/thread_executor.h"

namespace musubi::runtime {

Alarms::~Alarms() {
  {
    const std::lock_guard<std::mutex> held(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Alarms::set(std::uint64_t deadline_ns, remote_lock::Grants::Expiry expiry) {
  const std::lock_guard<std::mutex> held(mutex_);
  const auto place = due_.emplace(deadline_ns, expiry);
  if (!thread_.joinable()) {
    // The new thread takes no signals of the program.
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { work(); });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  } else if (place == due_.begin()) {
    changed_.notify_one();
  }
}

void Alarms::cancel(std::uint64_t deadline_ns, remote_lock::Grants::Expiry expiry) {
  const std::lock_guard<std::mutex> held(mutex_);
  const auto [first, last] = due_.equal_range(deadline_ns);
  for (auto at = first; at != last; ++at) {
    if (at->second.serial != expiry.serial) continue;
    due_.erase(at);
    return;
  }
}

void Alarms::work() {
  ThreadExecutor executor(fabric_, counters_);
  std::unique_lock<std::mutex> held(mutex_);
  while (!stopping_) {
    if (due_.empty()) {
      changed_.wait(held);
      continue;
    }
    const std::uint64_t now = os::monotonic_ns();
    const std::uint64_t deadline = due_.begin()->first;
    if (now < deadline) {
      changed_.wait_for(held, sleep_before(deadline, now));
      continue;
    }
    const remote_lock::Grants::Expiry expiry = due_.begin()->second;
    due_.erase(due_.begin());
    held.unlock();
    executor.run(remote_lock::Grants::expire(fabric_, expiry));
    held.lock();
  }
}

}  // namespace musubi::runtime
