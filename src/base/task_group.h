// A bounded number of independent tasks in flight on one executor: N blocks are released as N tasks, so that
// their latencies overlap (coherence.md section 2).
#pragma once

#include <new>

#include "base/event.h"
#include "base/frame_pool.h"
#include "base/task.h"

namespace musubi {

// Used by one task, on its executor. REQUIRES: drained before it is destroyed.
class TaskGroup {
 public:
  explicit TaskGroup(std::size_t limit) : limit_(limit) {}
  TaskGroup(const TaskGroup&) = delete;
  ~TaskGroup() {
    reap();
    MUSUBI_CHECK(in_flight_ == 0);
  }

  // Starts `task`; waits first while `limit` tasks are in flight.
  Task<> admit(Task<> task) {
    while (in_flight_ >= limit_) co_await one_ended();
    Executor& executor = co_await this_executor();
    auto* node = new (frame_allocate(sizeof(Node))) Node{*this, std::move(task), nullptr};
    ++in_flight_;
    node->task.start(executor, node);
    reap();
  }
  // Waits until all have ended.
  Task<> drain() {
    while (in_flight_ > 0) co_await one_ended();
    reap();
  }

 private:
  struct Node final : PromiseBase::Observer {
    TaskGroup& group;
    Task<> task;
    Node* next;

    Node(TaskGroup& g, Task<> t, Node* n) : group(g), task(std::move(t)), next(n) {}
    // Runs inside the task's own frame: reap() destroys the frame later.
    void task_ended() noexcept override {
      next = group.ended_;
      group.ended_ = this;
      --group.in_flight_;
      if (group.waiting_) group.end_seen_.set();
    }
  };

  Task<> one_ended() {
    end_seen_.reset();
    waiting_ = true;
    co_await end_seen_;
    waiting_ = false;
    reap();
  }
  void reap() noexcept {
    while (ended_ != nullptr) {
      Node* node = ended_;
      ended_ = node->next;
      node->~Node();
      frame_free(node, sizeof(Node));
    }
  }

  std::size_t limit_;
  std::size_t in_flight_ = 0;
  Node* ended_ = nullptr;
  bool waiting_ = false;
  Event end_seen_;
};

}  // namespace musubi
