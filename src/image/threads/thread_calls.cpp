#include "image/threads/thread_calls.h"

#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "image/threads/thread_stacks.h"

namespace musubi::image {
namespace {

constexpr std::int64_t ns_per_ms = 1'000'000, ms_per_second = 1000;

// Until that moment of the clock, at most `most`; null: no limit.
std::int32_t milliseconds_left(clockid_t clock, const timespec* deadline, std::int32_t most) {
  if (deadline == nullptr) return most;
  timespec now{};
  ::clock_gettime(clock, &now);
  const std::int64_t seconds = std::clamp<std::int64_t>(deadline->tv_sec - now.tv_sec, -1, most);
  const std::int64_t left = seconds * ms_per_second + (deadline->tv_nsec - now.tv_nsec) / ns_per_ms;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(left, 0, most));
}

// EBUSY if the thread has not ended by then.
int join_within(std::int32_t milliseconds, pthread_t thread, void** result) {
  if (milliseconds == 0) return ::pthread_tryjoin_np(thread, result);
  timespec deadline{};
  ::clock_gettime(CLOCK_MONOTONIC, &deadline);
  const std::int64_t ns = deadline.tv_nsec + milliseconds * ns_per_ms;
  deadline.tv_sec += ns / (ms_per_second * ns_per_ms);
  deadline.tv_nsec = ns % (ms_per_second * ns_per_ms);
  const int error = ::pthread_clockjoin_np(thread, result, CLOCK_MONOTONIC, &deadline);
  return error == ETIMEDOUT ? EBUSY : error;
}

int stack_of(pthread_t thread, ThreadCalls::Result& result) {
  pthread_attr_t attributes;
  const int error = ::pthread_getattr_np(thread, &attributes);
  if (error != 0) return error;
  void* low = nullptr;
  std::size_t bytes = 0;
  int state = 0;
  ::pthread_attr_getstack(&attributes, &low, &bytes);
  ::pthread_attr_getdetachstate(&attributes, &state);
  ::pthread_attr_destroy(&attributes);
  result.word = reinterpret_cast<std::uintptr_t>(low);
  result.bytes = bytes;
  result.number = state;
  return 0;
}

}  // namespace

void ThreadCalls::start(runtime::Runtime& runtime) {
  runtime_ = &runtime;
  calls_.start(runtime, procedures::threads, *this);
}

Rank ThreadCalls::owner_of(pthread_t thread) const noexcept {
  const runtime::Layout& layout = runtime_->memory().layout();
  const std::uintptr_t place = static_cast<std::uintptr_t>(thread) - layout.stacks_base;
  const std::size_t bytes_per_rank = layout.stack_slot_bytes * layout.stack_slots_per_rank;
  return place < bytes_per_rank * runtime_->ranks() ? Rank{static_cast<std::uint32_t>(place / bytes_per_rank)}
                                                    : runtime_->self();
}

int ThreadCalls::call(const Call& call, Result& result) noexcept {
  return static_cast<int>(calls_.at<&ThreadCalls::carry_out>(owner_of(call.thread), call, result));
}

// The wait is at the thread's rank, in parts, so that the calling thread can be cancelled in between.
int ThreadCalls::join(pthread_t thread, void** result, clockid_t clock, const timespec* deadline) {
  constexpr std::int32_t longest_ms = 100;
  Call call{};
  call.function = Function::join;
  call.thread = thread;
  Result found;
  for (;;) {
    call.number = milliseconds_left(clock, deadline, longest_ms);
    const int error = this->call(call, found);
    if (error != EBUSY) {
      if (error != 0) return error;
      runtime_->synchronization().acquire(channel_of(thread));
      if (result != nullptr) *result = reinterpret_cast<void*>(found.word);
      return 0;
    }
    if (call.number == 0) return ETIMEDOUT;
    ::pthread_testcancel();
  }
}

// Uses the wrapped functions: at this rank the thread is one of the process.
int ThreadCalls::carry_out(const Call& call, Result& result) noexcept {
  const std::size_t bytes = std::min<std::size_t>(call.bytes, call.memory.size());
  const auto set = reinterpret_cast<cpu_set_t*>(result.memory.data());
  void* returned = nullptr;
  int error = 0;
  switch (call.function) {
    case Function::join:
      if (!is_joinable(call.thread)) return EINVAL;
      error = join_within(call.number, call.thread, &returned);
      result.word = reinterpret_cast<std::uintptr_t>(returned);
      return error;
    case Function::detach:
      return is_joinable(call.thread) ? ::pthread_detach(call.thread) : EINVAL;
    case Function::cancel:
      return ::pthread_cancel(call.thread);
    case Function::kill:
      return ::pthread_kill(call.thread, call.number);
    case Function::queue:
      return ::pthread_sigqueue(call.thread, call.number, call.value);
    case Function::get_name:
      return ::pthread_getname_np(call.thread, result.memory.data(), bytes);
    case Function::set_name:
      return ::pthread_setname_np(call.thread, call.memory.data());
    case Function::get_processors:
      return ::pthread_getaffinity_np(call.thread, bytes, set);
    case Function::set_processors:
      std::memcpy(set, call.memory.data(), bytes);
      return ::pthread_setaffinity_np(call.thread, bytes, set);
    case Function::get_scheduling:
      return ::pthread_getschedparam(call.thread, &result.number, &result.parameters);
    case Function::set_scheduling:
      return ::pthread_setschedparam(call.thread, call.number, &call.parameters);
    case Function::set_priority:
      return ::pthread_setschedprio(call.thread, call.number);
    case Function::get_attributes:
      return stack_of(call.thread, result);
  }
  __builtin_unreachable();
}

}  // namespace musubi::image
