// Tasks that synchronise by words of memory alone, next to a background at each node.
#pragma once

#include <cstddef>

#include "stage.h"

namespace musubi::sim {

class Scene {
 public:
  Scene(Stage& stage, std::size_t tasks) : stage_(stage), at_work_(tasks) {}
  virtual ~Scene() = default;
  Scene(const Scene&) = delete;

  // A background at each node, until the last task has ended.
  void start_backgrounds() {
    stage_.play_on_all([this](Node& node) { return work_in_background(node); });
  }
  unsigned failures() const { return failures_; }

 protected:
  virtual Task<> poll(Node& node) { (void)co_await node.background().answer(); }
  Task<> answer_and_poll(Node& node) {
    (void)co_await node.background().answer();
    if (random().chance(30)) (void)co_await node.background().poll();
  }

  void fail() { ++failures_; }
  void end_task() { --at_work_; }
  bool ended() const { return at_work_ == 0; }
  Stage& stage() { return stage_; }
  Random& random() { return stage_.cluster().world().random(); }
  // Reads cost events: with a slow network there are fewer.
  fabric::sim::Think pause() {
    return idle(stage_, 2000 + 4 * stage_.cluster().configuration().model.latency_ns);
  }

 private:
  Task<> work_in_background(Node& node) {
    while (!ended()) {
      co_await poll(node);
      co_await pause();
    }
  }

  Stage& stage_;
  std::size_t at_work_;
  unsigned failures_ = 0;
};

}  // namespace musubi::sim
