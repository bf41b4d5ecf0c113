#include "runtime/heap_service.h"

#include <sched.h>

#include <cstring>

#include "base/check.h"
#include "fabric/transfer.h"

namespace musubi::runtime {

Task<> HeapService::send_free(Rank owner, std::uintptr_t address) {
  const Message message{Kind::free, address, 0};
  co_await fabric::deliver(fabric_, owner, fabric::MessageKind::heap, fabric::Urgency::promptly,
                           std::as_bytes(std::span{&message, 1}));
}

Task<std::size_t> HeapService::query_size(Rank owner, std::uintptr_t address) {
  Question question;
  const Message message{Kind::size_query, address, reinterpret_cast<std::uint64_t>(&question)};
  co_await fabric::deliver(fabric_, owner, fabric::MessageKind::heap, fabric::Urgency::promptly,
                           std::as_bytes(std::span{&message, 1}));
  co_await question.answered;
  co_return question.size;
}

void HeapService::on_message(Rank from, std::span<const std::byte> body) noexcept {
  Message message;
  MUSUBI_CHECK(body.size() == sizeof message);
  std::memcpy(&message, body.data(), sizeof message);
  Runtime::HeapListener* listener = listener_.load();
  switch (message.kind) {
    case Kind::free:
      MUSUBI_CHECK(listener != nullptr);
      listener->on_free(from, message.value);
      return;
    case Kind::size_query: {
      MUSUBI_CHECK(listener != nullptr);
      const Message answer{Kind::size_answer, listener->on_size_query(message.value), message.ticket};
      // The asker waits, and so empties its mailbox.
      while (send(from, answer) == fabric::Outcome::busy) ::sched_yield();
      return;
    }
    case Kind::size_answer: {
      auto* question = reinterpret_cast<Question*>(message.ticket);
      question->size = message.value;
      question->answered.set();
      return;
    }
  }
}

}  // namespace musubi::runtime
