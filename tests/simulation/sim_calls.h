// Calls between the ranks of a simulated job, for tasks that travel: messages, each served by a thread of its
// own.
#pragma once

#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "base/frame_pool.h"
#include "fabric/transfer.h"
#include "simulator/node.h"
#include "task_stealing/stealing.h"

namespace musubi::sim {

// In the memory of the frames that hold them, since a world that ends early drops those as they are.
using Bytes = std::vector<std::byte, FrameAllocator<std::byte>>;

class SimCalls final : public task_stealing::Calls, private fabric::Listener {
 public:
  // `damaged`(rank) is told of messages that were refused; they get no answer.
  SimCalls(Node& node, std::function<void(Rank)> damaged) : node_(node), damaged_(std::move(damaged)) {
    node.fabric().listen(fabric::MessageKind::call, this);
  }
  void set_server(task_stealing::Stealing* server) { server_ = server; }
  std::uint64_t asked() const { return asked_; }

  Task<Answer> ask(Rank callee, std::span<const std::byte> request, std::span<std::byte> room) override {
    const std::uint64_t begin_ns = node_.fabric().world().now_ns();
    Question question{{}, room, 0};
    const std::uint64_t ticket = ++asked_;
    questions_[ticket] = &question;
    const Bytes message = packed(ticket, false, request);
    co_await fabric::deliver(node_.fabric(), callee, fabric::MessageKind::call, fabric::Urgency::promptly,
                             message);
    co_await question.answered;
    co_return Answer{question.bytes, node_.fabric().world().now_ns() - begin_ns};
  }

 private:
  struct Head {
    std::uint64_t ticket;
    std::uint64_t is_answer;
  };
  struct Question {
    Event answered;
    std::span<std::byte> room;
    std::size_t bytes;
  };

  static Bytes packed(std::uint64_t ticket, bool is_answer, std::span<const std::byte> body) {
    Bytes message(sizeof(Head) + body.size());
    const Head head{ticket, is_answer};
    std::memcpy(message.data(), &head, sizeof head);
    if (!body.empty()) std::memcpy(message.data() + sizeof head, body.data(), body.size());
    return message;
  }
  const char* on_message(Rank from, std::span<const std::byte> body) noexcept override {
    Head head;
    std::memcpy(&head, body.data(), sizeof head);
    body = body.subspan(sizeof head);
    if (head.is_answer == 0) {
      services_.push_back(serve(from, head.ticket, Bytes(body.begin(), body.end())));
      services_.back().start(node_.add_thread(), nullptr);
      return nullptr;
    }
    Question* const question = questions_.extract(head.ticket).mapped();
    std::memcpy(question->room.data(), body.data(), body.size());
    question->bytes = body.size();
    question->answered.set();
    return nullptr;
  }
  Task<> serve(Rank from, std::uint64_t ticket, Bytes request) {
    std::array<std::byte, task_stealing::message_bytes_max> answer;
    const std::optional<std::size_t> bytes = co_await server_->answer(from, request, answer);
    if (!bytes) {
      damaged_(from);
      co_return;
    }
    const Bytes message = packed(ticket, true, std::span(answer).first(*bytes));
    co_await fabric::deliver(node_.fabric(), from, fabric::MessageKind::call, fabric::Urgency::promptly,
                             message);
  }

  Node& node_;
  const std::function<void(Rank)> damaged_;
  task_stealing::Stealing* server_ = nullptr;
  std::uint64_t asked_ = 0;
  std::map<std::uint64_t, Question*> questions_;
  std::deque<Task<>> services_;
};

}  // namespace musubi::sim
