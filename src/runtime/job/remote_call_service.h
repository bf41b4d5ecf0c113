// Remote calls over the fabric's messages. A rank that is never called has no thread for them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "base/event.h"
#include "base/open_questions.h"
#include "base/spin_lock.h"
#include "base/task.h"
#include "fabric/fabric.h"
#include "runtime/api/remote_calls.h"
#include "runtime/threads/thread_executor.h"
#include "trace/counters.h"

namespace musubi::runtime {

class RemoteCallService final : public fabric::Listener {
 public:
  // A thread of this service first calls `begin_thread`.
  RemoteCallService(fabric::Fabric& fabric, trace::Counters& counters, std::function<void()> begin_thread);
  // Waits for running procedures. REQUIRES: no thread polls the fabric any more.
  ~RemoteCallService();

  void serve(ProcedureId id, Procedure& procedure) noexcept;
  // A request in progress, in the memory of the thread that waits for the reply.
  struct Question : OpenQuestion {
    Question() = default;
    explicit Question(std::span<std::byte> room) : reply(room) {}

    std::span<std::byte> reply;
    Answer answer;
    Event answered;
  };
  // As RemoteCalls::call, for another rank. `question` must live until the task has ended.
  Task<> ask(Rank callee, ProcedureId id, std::span<const std::byte> request, Question& question);
  // The two halves of ask().
  Task<> send(Rank callee, ProcedureId id, std::span<const std::byte> request, Question& question);
  static Task<> await(Question& question);
  Answer run_here(ProcedureId id, std::span<const std::byte> request, std::span<std::byte> reply) noexcept;

  // Starts threads for waiting calls if all other threads are busy. On the service thread.
  void keep_up();

  const char* on_message(Rank from, std::span<const std::byte> body) noexcept override;

 private:
  enum class Kind : std::uint8_t { request, reply };
  struct Header {
    std::uint64_t ticket;  // the caller's, of its Question
    std::int64_t status;
    std::uint32_t bytes;
    ProcedureId id;
    Kind kind;
  };
  static_assert(sizeof(Header) + call_bytes_max <= fabric::message_bytes_max);
  struct Packet {
    Header header;
    std::array<std::byte, call_bytes_max> body;

    std::span<const std::byte> bytes() const {
      return std::as_bytes(std::span{this, 1}).first(sizeof header + header.bytes);
    }
  };
  struct Call {
    Call* next;
    Rank from;
    Packet packet;
  };

  const char* take_reply(Rank from, const Header& header, const std::byte* bytes) noexcept;
  Call* take() noexcept;
  void work();
  void answer(const Call& call, ThreadExecutor& executor);

  fabric::Fabric& fabric_;
  OpenQuestions<Question> questions_;
  trace::Counters& counters_;
  const std::function<void()> begin_thread_;
  std::array<std::atomic<Procedure*>, procedure_count_max> procedures_{};
  SpinLock lock_;  // guards the queue
  Call* first_ MUSUBI_GUARDED_BY(lock_) = nullptr;
  Call* last_ MUSUBI_GUARDED_BY(lock_) = nullptr;
  std::uint32_t waiting_calls_ MUSUBI_GUARDED_BY(lock_) = 0;  // in the queue
  std::uint32_t free_threads_ MUSUBI_GUARDED_BY(lock_) = 0;
  std::atomic<std::uint32_t> arrivals_{0};  // counts calls; idle threads sleep on it
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> threads_;  // started by the service thread
};

}  // namespace musubi::runtime
