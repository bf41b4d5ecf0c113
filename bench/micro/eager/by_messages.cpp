// Over the fabric's own messages, which the runtime uses for its requests and grants.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <vector>

#include "eager.h"
#include "fabric/transfer.h"
#include "runtime/join_job.h"
#include "runtime/threads/thread_executor.h"

namespace {

using namespace musubi;

class Inbox final : public fabric::Listener {
 public:
  const char* on_message(Rank, std::span<const std::byte> body) noexcept override {
    const std::lock_guard hold(mutex_);
    messages_.emplace_back(body.begin(), body.end());
    any_.store(true);
    return nullptr;
  }
  bool take(void* message, std::size_t bytes) {
    const std::lock_guard hold(mutex_);
    if (messages_.empty()) return false;
    std::memcpy(message, messages_.front().data(), bytes);
    messages_.pop_front();
    any_.store(!messages_.empty());
    return true;
  }
  const std::atomic<bool>& any() const { return any_; }

 private:
  std::mutex mutex_;
  std::deque<std::vector<std::byte>> messages_;
  std::atomic<bool> any_{false};
};

runtime::Runtime* job = nullptr;
Inbox inbox;

fabric::Fabric& own_fabric() {
  return job->global_memory().fabric();
}
Rank other() {
  return Rank{1 - job->self().value};
}

}  // namespace

const char* const eager_name = "musubi messages";
const std::size_t eager_bytes_max = fabric::message_bytes_max;

int eager_begin(int*, char***) {
  auto settings = runtime::read_settings();
  auto bootstrap = runtime::join_job();
  if (!settings || !bootstrap) std::exit(1);
  auto started = runtime::start_runtime(settings.value(), std::move(bootstrap).value(), {});
  if (!started) std::exit(1);
  job = started.value().release();
  own_fabric().listen(fabric::MessageKind::unassigned, &inbox);
  eager_meet();
  return static_cast<int>(job->self().value);
}
void eager_send(const void* message, std::size_t bytes) {
  runtime::ThreadExecutor::of_this_thread(own_fabric(), job->counters())
      .run(fabric::deliver(own_fabric(), other(), fabric::MessageKind::unassigned,
                           fabric::Urgency::when_polled, {static_cast<const std::byte*>(message), bytes}));
}
void eager_receive(void* message, std::size_t bytes) {
  while (!inbox.take(message, bytes)) {
    if (!own_fabric().progress()) own_fabric().wait(inbox.any());
  }
}
void eager_meet() {
  runtime::BarrierPayload nothing{};
  job->synchronization().barrier(nothing);
}
void eager_end() {
  std::fflush(stdout);
  job->ending().finish(0);
  ::_exit(0);
}
