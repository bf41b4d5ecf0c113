// Messages of the heap between ranks: memory given back to the rank that allocated it, and questions for its
// size.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/event.h"
#include "base/task.h"
#include "fabric/fabric.h"
#include "runtime/runtime.h"

namespace musubi::runtime {

class HeapService final : public fabric::Listener {
 public:
  explicit HeapService(fabric::Fabric& fabric) : fabric_(fabric) {
    fabric.listen(fabric::MessageKind::heap, this);
  }

  void set_listener(Runtime::HeapListener* listener) { listener_.store(listener); }

  Task<> send_free(Rank owner, std::uintptr_t address);
  Task<std::size_t> query_size(Rank owner, std::uintptr_t address);

  void on_message(Rank from, std::span<const std::byte> body) noexcept override;

 private:
  enum class Kind : std::uint64_t { free, size_query, size_answer };
  struct Message {
    Kind kind;
    std::uint64_t value;   // address, or the size
    std::uint64_t ticket;  // the asker's Question
  };
  struct Question {
    Event answered;
    std::size_t size = 0;
  };
  fabric::Outcome send(Rank to, const Message& message) {
    return fabric_.send(to, fabric::MessageKind::heap, fabric::Urgency::promptly,
                        std::as_bytes(std::span{&message, 1}));
  }

  fabric::Fabric& fabric_;
  std::atomic<Runtime::HeapListener*> listener_{nullptr};
};

}  // namespace musubi::runtime
