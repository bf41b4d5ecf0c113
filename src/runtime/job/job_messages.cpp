#include "runtime/job/job_messages.h"

#include <cstring>
#include <new>

#include "base/check.h"
#include "base/frame_pool.h"
#include "fabric/transfer.h"

namespace musubi::runtime {
namespace {

template <class Node>
void push(std::atomic<Node*>& stack, Node* node) noexcept {
  node->next = stack.load(std::memory_order_relaxed);
  while (!stack.compare_exchange_weak(node->next, node, std::memory_order_release)) {
  }
}

}  // namespace

Task<> HeapService::send_free(Rank owner, std::uintptr_t address, std::size_t bytes) {
  const Message message{Kind::free, address, bytes};
  co_await fabric::deliver(fabric_, owner, fabric::MessageKind::heap, fabric::Urgency::promptly,
                           std::as_bytes(std::span{&message, 1}));
}

Task<std::size_t> HeapService::query_size(Rank owner, std::uintptr_t address) {
  Question question;
  const Message message{Kind::size_query, address, questions_.enter(question, owner)};
  co_await fabric::deliver(fabric_, owner, fabric::MessageKind::heap, fabric::Urgency::promptly,
                           std::as_bytes(std::span{&message, 1}));
  co_await question.answered;
  co_return question.size;
}

HeapService::Arrival* HeapService::make_arrival() noexcept {
  Arrival* unused = unused_.load(std::memory_order_acquire);
  while (unused != nullptr &&
         !unused_.compare_exchange_weak(unused, unused->next, std::memory_order_acquire)) {
  }
  return unused != nullptr ? unused : new (frame_allocate(sizeof(Arrival))) Arrival;
}

const char* HeapService::on_message(Rank from, std::span<const std::byte> body) noexcept {
  Message message;
  if (body.size() != sizeof message) return "its message of the heap is damaged";
  std::memcpy(&message, body.data(), sizeof message);
  if (message.kind > Kind::size_answer) return "its message of the heap is of an unknown kind";
  if (message.kind == Kind::size_answer) {
    Question* const question = questions_.take(message.extra, from);
    if (question == nullptr) return "it answers a question of the heap that it was not asked";
    question->size = message.value;
    question->answered.set();
    return nullptr;
  }
  Messages::HeapListener* const listener = listener_.load();
  const std::size_t bytes = message.kind == Kind::free ? message.extra : 0;
  if (listener != nullptr && !listener->is_own(message.value, bytes)) {
    return "it gives back, or asks about, memory that is not of this rank";
  }
  Arrival* const arrival = make_arrival();
  arrival->message = message;
  arrival->from = from;
  push(arrived_, arrival);
  fabric_.wake_service();
  return nullptr;
}

bool HeapService::serve() {
  Messages::HeapListener* const listener = listener_.load();
  if (listener == nullptr) return true;
  Arrival* last_first = arrived_.exchange(nullptr, std::memory_order_acquire);
  Arrival* in_order = nullptr;
  while (last_first != nullptr) {
    Arrival* const next = last_first->next;
    last_first->next = in_order;
    in_order = last_first;
    last_first = next;
  }
  while (in_order != nullptr) {
    Arrival* const next = in_order->next;
    carry_out(*in_order, *listener);
    push(unused_, in_order);
    in_order = next;
  }
  return send_answers();
}

void HeapService::carry_out(const Arrival& arrival, Messages::HeapListener& listener) {
  const Message& message = arrival.message;
  if (message.kind == Kind::free) {
    listener.on_free(arrival.from, message.value, message.extra);
  } else {
    answers_.push_back(
        {arrival.from, {Kind::size_answer, listener.on_size_query(message.value), message.extra}});
  }
}

bool HeapService::send_answers() {
  std::erase_if(answers_, [this](const Answer& answer) {
    return fabric_.send(answer.to, fabric::MessageKind::heap, fabric::Urgency::promptly,
                        std::as_bytes(std::span{&answer.message, 1})) == fabric::Outcome::done;
  });
  return answers_.empty();
}

}  // namespace musubi::runtime
