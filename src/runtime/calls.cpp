// Calls of this rank's threads to other ranks.
#include <algorithm>
#include <array>
#include <cstring>

#include "os/signal_calls.h"
#include "runtime/job_runtime.h"
#include "runtime/waiting.h"

namespace musubi::runtime {

// The program's signals go to the program's threads; what the processor raises must reach the fault handler.
void JobRuntime::begin_calls_thread() {
  constexpr os::SignalBits of_this_thread = os::signal_bit(SIGSEGV) | os::signal_bit(SIGBUS) |
                                            os::signal_bit(SIGTRAP) | os::signal_bit(SIGILL) |
                                            os::signal_bit(SIGFPE) | os::signal_bit(SIGABRT);
  os::set_signal_mask(SIG_SETMASK, ~of_this_thread);
  attach();
  close_wait_record();  // who calls says that it waits
}

Answer JobRuntime::call(Rank callee, ProcedureId id, std::span<const std::byte> request,
                        std::span<std::byte> reply) {
  // Shared memory is read and written here, not by the task, which must not fault.
  std::array<std::byte, call_bytes_max> sent, received;
  MUSUBI_CHECK(request.size() <= sent.size(), "a request of %zu bytes", request.size());
  if (!request.empty()) std::memcpy(sent.data(), request.data(), request.size());
  const auto copy = std::span<const std::byte>(sent).first(request.size());
  Answer answer;
  if (callee == self_) {
    answer = calls_->run_here(id, copy, received);
  } else {
    CallService::Question question{received, {}, {}};
    executor().run(calls_->ask(callee, id, copy, question));
    answer = question.answer;
  }
  const std::size_t stored = std::min(answer.bytes, reply.size());
  if (stored != 0) std::memcpy(reply.data(), received.data(), stored);
  return answer;
}

std::int64_t JobRuntime::call_others(ProcedureId id, std::span<const std::byte> request) {
  if (ranks_ == 1) return 0;
  std::array<std::byte, call_bytes_max> sent;
  MUSUBI_CHECK(request.size() <= sent.size(), "a request of %zu bytes", request.size());
  if (!request.empty()) std::memcpy(sent.data(), request.data(), request.size());
  // A few at a time, without malloc: a handler of the program may be the caller.
  constexpr std::size_t at_once = 32;
  std::int64_t smallest = INT64_MAX;
  for (std::uint32_t next = 0; next < ranks_;) {
    std::array<CallService::Question, at_once> questions{};
    std::size_t count = 0;
    for (; next < ranks_ && count < at_once; ++next) {
      if (Rank{next} == self_) continue;
      executor().run(calls_->send(Rank{next}, id, std::span<const std::byte>(sent).first(request.size()),
                                  questions[count]));
      ++count;
    }
    for (std::size_t i = 0; i < count; ++i) {
      executor().run(CallService::await(questions[i]));
      smallest = std::min(smallest, questions[i].answer.status);
    }
  }
  return smallest;
}

}  // namespace musubi::runtime
