// Messages of the heap between ranks: memory given back to the rank that allocated it, and questions for its
// size.
//
// A message is delivered on any thread that polls, perhaps inside a fault, while a frame further out holds
// locks of the program's heap. So delivery only lays the message aside, without malloc and without waiting.
// The service thread carries it out.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/event.h"
#include "base/open_questions.h"
#include "base/task.h"
#include "fabric/fabric.h"
#include "runtime/api/messages.h"

namespace musubi::runtime {

class HeapService final : public fabric::Listener {
 public:
  explicit HeapService(fabric::Fabric& fabric) : fabric_(fabric) {
    fabric.listen(fabric::MessageKind::heap, this);
  }

  // From now on what arrives is carried out; before, it waits.
  void set_listener(Messages::HeapListener* listener) {
    listener_.store(listener);
    fabric_.wake_service();
  }

  // `bytes`: as HeapListener::on_free has it.
  Task<> send_free(Rank owner, std::uintptr_t address, std::size_t bytes);
  Task<std::size_t> query_size(Rank owner, std::uintptr_t address);

  // Carries out what has arrived. Result: false when an answer found its receiver's mailbox full, so that
  // this is to be called again soon. On the service thread only.
  bool serve();

  const char* on_message(Rank from, std::span<const std::byte> body) noexcept override;

 private:
  enum class Kind : std::uint64_t { free, size_query, size_answer };
  struct Message {
    Kind kind;
    std::uint64_t value;  // address, or the size
    std::uint64_t extra;  // of a free: bytes. Else the ticket of the asker's Question
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
  std::atomic<Arrival*> arrived_{nullptr};  // the last one first
  // Only on_message takes one out, and there is one call of it at a time: a stack without a lock is enough.
  std::atomic<Arrival*> unused_{nullptr};
  std::vector<Answer> answers_;  // of the service thread: not sent yet
};

}  // namespace musubi::runtime
