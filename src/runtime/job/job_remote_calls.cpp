#include "runtime/job/job_remote_calls.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "os/signal_calls.h"
#include "runtime/threads/waiting.h"

namespace musubi::runtime {

JobRemoteCalls::JobRemoteCalls(JobContext& job, fabric::Fabric& fabric, JobThreads& threads)
    : job_(job), threads_(threads), service_(fabric, job.counters, [this] { begin_thread(); }) {}

// Only the program's threads take its signals; signals of the processor must reach the fault handler.
void JobRemoteCalls::begin_thread() {
  constexpr os::SignalBits of_this_thread = os::signal_bit(SIGSEGV) | os::signal_bit(SIGBUS) |
                                            os::signal_bit(SIGTRAP) | os::signal_bit(SIGILL) |
                                            os::signal_bit(SIGFPE) | os::signal_bit(SIGABRT);
  os::set_signal_mask(SIG_SETMASK, ~of_this_thread);
  threads_.attach();
  close_wait_record();  // the caller's record shows the wait
}

Answer JobRemoteCalls::call(Rank callee, ProcedureId id, std::span<const std::byte> request,
                            std::span<std::byte> reply) {
  // Shared memory is read and written here, not in the task, which must not fault.
  std::array<std::byte, call_bytes_max> sent, received;
  MUSUBI_CHECK(request.size() <= sent.size(), "a request of %zu bytes", request.size());
  if (!request.empty()) std::memcpy(sent.data(), request.data(), request.size());
  const auto copy = std::span<const std::byte>(sent).first(request.size());
  Answer answer;
  if (callee == job_.self) {
    answer = service_.run_here(id, copy, received);
  } else {
    RemoteCallService::Question question(received);
    threads_.executor().run(service_.ask(callee, id, copy, question));
    answer = question.answer;
  }
  const std::size_t stored = std::min(answer.bytes, reply.size());
  if (stored != 0) std::memcpy(reply.data(), received.data(), stored);
  return answer;
}

Task<Answer> JobRemoteCalls::ask(Rank callee, ProcedureId id, std::span<const std::byte> request,
                                 std::span<std::byte> reply) {
  if (callee == job_.self) {
    std::array<std::byte, call_bytes_max> received;
    const Answer answer = service_.run_here(id, request, received);
    const std::size_t stored = std::min(answer.bytes, reply.size());
    if (stored != 0) std::memcpy(reply.data(), received.data(), stored);
    co_return answer;
  }
  RemoteCallService::Question question(reply);
  co_await service_.ask(callee, id, request, question);
  co_return question.answer;
}

std::int64_t JobRemoteCalls::call_others(ProcedureId id, std::span<const std::byte> request) {
  if (job_.ranks == 1) return 0;
  std::array<std::byte, call_bytes_max> sent;
  MUSUBI_CHECK(request.size() <= sent.size(), "a request of %zu bytes", request.size());
  if (!request.empty()) std::memcpy(sent.data(), request.data(), request.size());
  // A few at a time, without malloc: a handler of the program may be the caller.
  constexpr std::size_t at_once = 32;
  std::int64_t smallest = INT64_MAX;
  for (std::uint32_t next = 0; next < job_.ranks;) {
    std::array<RemoteCallService::Question, at_once> questions{};
    std::size_t count = 0;
    for (; next < job_.ranks && count < at_once; ++next) {
      if (Rank{next} == job_.self) continue;
      threads_.executor().run(service_.send(
          Rank{next}, id, std::span<const std::byte>(sent).first(request.size()), questions[count]));
      ++count;
    }
    for (std::size_t i = 0; i < count; ++i) {
      threads_.executor().run(RemoteCallService::await(questions[i]));
      smallest = std::min(smallest, questions[i].answer.status);
    }
  }
  return smallest;
}

}  // namespace musubi::runtime
