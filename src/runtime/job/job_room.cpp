#include "runtime/job/job_room.h"

#include <string>

#include "os/clock.h"
#include "os/futex.h"
#include "runtime/threads/thread_executor.h"
#include "runtime/threads/tracing.h"

namespace musubi::runtime {
namespace {

constexpr std::uint64_t look_again_ns = 20'000'000;
constexpr unsigned vain_rounds_max = 50;  // one second

thread_local bool makes_room = false;  // blocks that this thread touches itself are opened at once

}  // namespace

JobRoom::JobRoom(JobContext& job, JobDevices& devices, coherence::Protocol& protocol, sync::FlagOrder& flags)
    : job_(job), devices_(devices) {
  coherence::Room* const room = protocol.room();
  if (job.one_memory || room == nullptr) return;
  const sync::MemoryBudget& budget = *this;
  sync::RoomKeeper::Waker& waker = *this;
  keeper_ = std::make_unique<sync::RoomKeeper>(devices.fabric(), *room, flags, budget, waker,
                                               devices.files().control() + job.control.room_words,
                                               job.control.room_words);
}

JobRoom::~JobRoom() {
  stop();
}

void JobRoom::start() {
  if (!job_.one_memory) thread_ = std::thread([this] { work(); });
}

void JobRoom::stop() noexcept {
  if (!thread_.joinable()) return;
  stopping_.store(true);
  if (keeper_ != nullptr) keeper_->ask_no_more();
  wake();
  thread_.join();
}

std::size_t JobRoom::held() const noexcept {
  return devices_.memory_watch().bytes_held();
}
std::size_t JobRoom::allowed() const noexcept {
  return devices_.memory_watch().bytes_wanted_at_most();
}

void JobRoom::wake() noexcept {
  bell_.fetch_add(1);
  os::futex_wake(bell_);
}

void JobRoom::press() noexcept {
  pressed_.store(true);
  wake();
}

void JobRoom::before_opening(std::size_t bytes) noexcept {
  if (makes_room) return;
  MemoryWatch& watch = devices_.memory_watch();
  while (!stopping_.load()) {
    const std::uint32_t round = rounds_.load();
    switch (watch.opening(bytes)) {
      case MemoryWatch::Verdict::go_on:
        return;
      case MemoryWatch::Verdict::look:
        if (!thread_.joinable()) return devices_.fabric().wake_service();
        return press();
      case MemoryWatch::Verdict::stop:
        break;
    }
    if (keeper_ == nullptr || !thread_.joinable()) job_.abort(1, watch.limit_message().text);
    press();
    os::futex_wait(rounds_, round, look_again_ns);
    bytes = 0;  // counted by now
  }
}

void JobRoom::work() {
  makes_room = true;
  os::sleep_exactly();
  name_thread(ThreadRole::memory, 0);
  ThreadExecutor executor(devices_.fabric(), job_.counters, ThreadExecutor::Pauses::sleep);
  while (!stopping_.load()) {
    const std::uint32_t seen = bell_.load();
    if (keeper_ != nullptr && keeper_->is_asked()) executor.run(keeper_->serve());
    if (pressed_.exchange(false)) {
      const std::size_t excess = devices_.memory_watch().excess();
      relieve(keeper_ != nullptr && excess != 0 ? executor.run(keeper_->make(excess)) : 0);
    }
    if (bell_.load() == seen) os::futex_wait(bell_, seen);
  }
}

// All that could be evicted has been. Other ranks may have room again a moment later.
void JobRoom::relieve(std::size_t freed) {
  MemoryWatch& watch = devices_.memory_watch();
  vain_rounds_ = freed == 0 && watch.is_over() ? vain_rounds_ + 1 : 0;
  if (vain_rounds_ > vain_rounds_max) job_.abort(1, watch.limit_message().text);
  if (watch.is_due()) {
    if (const std::string line = watch.shortage(); !line.empty()) job_.abort(1, line);
  }
  if (vain_rounds_ != 0) return;  // waiting threads try again
  rounds_.fetch_add(1);
  os::futex_wake(rounds_);
}

}  // namespace musubi::runtime
