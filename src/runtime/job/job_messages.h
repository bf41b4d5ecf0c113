// Messages of the heap: sent by this rank's threads, executed by its service thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/event.h"
#include "base/open_questions.h"
#include "base/task.h"
#include "fabric/fabric.h"
#include "runtime/api/messages.h"
#include "runtime/job/job_threads.h"

namespace musubi::runtime {

// Messages of the heap between ranks: free requests to the rank that allocated the memory, and queries of its
// size.
//
// A message is delivered on any thread that polls, perhaps inside a fault, while an outer frame holds locks
// of the program's heap. Delivery therefore only queues the message, without malloc and without waiting. The
// service thread executes it.
class HeapService final : public fabric::Listener {
 public:
  explicit HeapService(fabric::Fabric& fabric) : fabric_(fabric) {
    fabric.listen(fabric::MessageKind::heap, this);
  }

  // From now on arriving messages are executed; until then they wait.
  void set_listener(Messages::HeapListener* listener) {
    listener_.store(listener);
    fabric_.wake_service();
  }

  // `bytes`: see HeapListener::on_free.
  Task<> send_free(Rank owner, std::uintptr_t address, std::size_t bytes);
  Task<std::size_t> query_size(Rank owner, std::uintptr_t address);

  // Executes the messages that have arrived. Result: false if a reply found its receiver's mailbox full; call
  // again soon. Only on the service thread.
  bool serve();

  const char* on_message(Rank from, std::span<const std::byte> body) noexcept override;

 private:
  enum class Kind : std::uint64_t { free, size_query, size_answer };
  struct Message {
    Kind kind;
    std::uint64_t value;  // address or size
    std::uint64_t extra;  // of a free: bytes; otherwise the ticket of the caller's Question
  };
  struct Arrival {
    Message message;
    Rank from;
    Arrival* next;
  };
  struct Answer {
    Rank to;
    Message message;
  };
  struct Question : OpenQuestion {
    Event answered;
    std::size_t size = 0;
  };
  Arrival* make_arrival() noexcept;
  void carry_out(const Arrival& arrival, Messages::HeapListener& listener);
  bool send_answers();

  fabric::Fabric& fabric_;
  OpenQuestions<Question> questions_;
  std::atomic<Messages::HeapListener*> listener_{nullptr};
  std::atomic<Arrival*> arrived_{nullptr};  // most recent first
  // Only on_message removes a node, one call at a time: a lock-free stack suffices.
  std::atomic<Arrival*> unused_{nullptr};
  std::vector<Answer> answers_;  // the service thread's unsent replies
};

class JobMessages final : public Messages {
 public:
  JobMessages(fabric::Fabric& fabric, JobThreads& threads) : heap_(fabric), threads_(threads) {}

  void set_heap_listener(HeapListener* listener) override { heap_.set_listener(listener); }
  void send_free(Rank owner, std::uintptr_t address, std::size_t bytes) override {
    threads_.executor().run(heap_.send_free(owner, address, bytes));
  }
  std::size_t query_size(Rank owner, std::uintptr_t address) override {
    return threads_.executor().run(heap_.query_size(owner, address));
  }

  // As HeapService::serve. On the service thread only.
  bool serve() { return heap_.serve(); }

 private:
  HeapService heap_;
  JobThreads& threads_;
};

}  // namespace musubi::runtime
