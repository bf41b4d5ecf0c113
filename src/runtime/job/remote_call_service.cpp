#include "runtime/job/remote_call_service.h"

#include <signal.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/frame_pool.h"
#include "fabric/transfer.h"
#include "os/futex.h"

namespace musubi::runtime {

RemoteCallService::RemoteCallService(fabric::Fabric& fabric, trace::Counters& counters,
                                     std::function<void()> begin_thread)
    : fabric_(fabric), counters_(counters), begin_thread_(std::move(begin_thread)) {
  fabric.listen(fabric::MessageKind::call, this);
}

RemoteCallService::~RemoteCallService() {
  stopping_.store(true);
  arrivals_.fetch_add(1);
  os::futex_wake(arrivals_);
  for (std::thread& thread : threads_) thread.join();
}

void RemoteCallService::serve(ProcedureId id, Procedure& procedure) noexcept {
  MUSUBI_CHECK(id.value < procedure_count_max);
  Procedure* const before = procedures_[id.value].exchange(&procedure);
  MUSUBI_CHECK(before == nullptr, "procedure %u is served twice", unsigned{id.value});
}

Task<> RemoteCallService::send(Rank callee, ProcedureId id, std::span<const std::byte> request,
                               Question& question) {
  MUSUBI_CHECK(request.size() <= call_bytes_max, "a request of %zu bytes", request.size());
  Packet packet;
  packet.header = {questions_.enter(question, callee), 0, static_cast<std::uint32_t>(request.size()), id,
                   Kind::request};
  if (!request.empty()) std::memcpy(packet.body.data(), request.data(), request.size());
  counters_.add(trace::Counter::remote_calls);
  co_await fabric::deliver(fabric_, callee, fabric::MessageKind::call, fabric::Urgency::promptly,
                           packet.bytes());
}

Task<> RemoteCallService::await(Question& question) {
  co_await question.answered;
}

Task<> RemoteCallService::ask(Rank callee, ProcedureId id, std::span<const std::byte> request,
                              Question& question) {
  co_await send(callee, id, request, question);
  co_await question.answered;
}

Answer RemoteCallService::run_here(ProcedureId id, std::span<const std::byte> request,
                                   std::span<std::byte> reply) noexcept {
  Procedure* const procedure = procedures_[id.value].load();
  MUSUBI_CHECK(procedure != nullptr, "nobody serves procedure %u", unsigned{id.value});
  return procedure->run(fabric_.self(), request, reply);
}

// Runs on any thread that polls, perhaps inside a fault: it must not wait or call malloc.
const char* RemoteCallService::on_message(Rank from, std::span<const std::byte> body) noexcept {
  constexpr const char* damaged = "its remote call is damaged";
  Header header;
  if (body.size() < sizeof header) return damaged;
  std::memcpy(&header, body.data(), sizeof header);
  if (header.bytes > call_bytes_max || body.size() != sizeof header + header.bytes) return damaged;
  if (header.kind > Kind::reply || header.id.value >= procedure_count_max) return damaged;
  const std::byte* const bytes = body.data() + sizeof header;
  if (header.kind == Kind::reply) return take_reply(from, header, bytes);
  if (procedures_[header.id.value].load() == nullptr) return "it calls a procedure that does not exist";
  auto* const call = static_cast<Call*>(frame_allocate(sizeof(Call)));
  call->next = nullptr;
  call->from = from;
  call->packet.header = header;
  if (header.bytes != 0) std::memcpy(call->packet.body.data(), bytes, header.bytes);
  lock_.lock();
  (last_ != nullptr ? last_->next : first_) = call;
  last_ = call;
  ++waiting_calls_;
  const bool needs_thread = waiting_calls_ > free_threads_;
  lock_.unlock();
  arrivals_.fetch_add(1);
  os::futex_wake(arrivals_);
  if (needs_thread) fabric_.wake_service();
  return nullptr;
}

const char* RemoteCallService::take_reply(Rank from, const Header& header, const std::byte* bytes) noexcept {
  Question* const question = questions_.take(header.ticket, from);
  if (question == nullptr) return "it answers a call that it was not asked";
  const std::size_t stored = std::min<std::size_t>(header.bytes, question->reply.size());
  if (stored != 0) std::memcpy(question->reply.data(), bytes, stored);
  question->answer = {header.status, header.bytes};
  question->answered.set();
  return nullptr;
}

void RemoteCallService::keep_up() {
  lock_.lock();
  const std::uint32_t missing = waiting_calls_ > free_threads_ ? waiting_calls_ - free_threads_ : 0;
  free_threads_ += missing;
  lock_.unlock();
  // The service thread blocks the program's signals; threads that it starts inherit that.
  for (std::uint32_t i = 0; i < missing; ++i) threads_.emplace_back([this] { work(); });
}

// Null at the end of the job.
RemoteCallService::Call* RemoteCallService::take() noexcept {
  while (!stopping_.load()) {
    const std::uint32_t arrived = arrivals_.load();
    lock_.lock();
    Call* const call = first_;
    if (call != nullptr) {
      first_ = call->next;
      if (first_ == nullptr) last_ = nullptr;
      --waiting_calls_;
      --free_threads_;
    }
    lock_.unlock();
    if (call != nullptr) return call;
    if (!stopping_.load()) os::futex_wait(arrivals_, arrived);
  }
  return nullptr;
}

void RemoteCallService::work() {
  begin_thread_();
  ThreadExecutor executor(fabric_, counters_);
  while (Call* const call = take()) {
    answer(*call, executor);
    frame_free(call, sizeof *call);
    lock_.lock();
    ++free_threads_;
    lock_.unlock();
  }
}

void RemoteCallService::answer(const Call& call, ThreadExecutor& executor) {
  const Header& asked = call.packet.header;
  Procedure* const procedure = procedures_[asked.id.value].load();
  Packet packet;
  const auto request = std::span{call.packet.body}.first(asked.bytes);
  const Answer answer = procedure->run(call.from, request, packet.body);
  MUSUBI_CHECK(answer.bytes <= call_bytes_max);
  packet.header = {asked.ticket, answer.status, static_cast<std::uint32_t>(answer.bytes), asked.id,
                   Kind::reply};
  executor.run(fabric::deliver(fabric_, call.from, fabric::MessageKind::call, fabric::Urgency::promptly,
                               packet.bytes()));
}

}  // namespace musubi::runtime
