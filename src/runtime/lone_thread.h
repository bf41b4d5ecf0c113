// Whether the one thread of the rank that runs program code is in the runtime: then open pages may change,
// since nobody looks at them.
#pragma once

#include <atomic>

namespace musubi::runtime {

class LoneThread {
 public:
  // An operation that changes open pages if no other thread runs program code. It never waits for what a
  // program does: a thread that comes up meanwhile waits for its end.
  class Operation {
   public:
    // `others` is called once: whether there are other threads.
    template <class Others>
    Operation(LoneThread& thread, Others&& others) : under_way_(thread.under_way_) {
      under_way_.store(true);
      siblings_ = others();
      if (siblings_) under_way_.store(false);
    }
    ~Operation() {
      if (!siblings_) under_way_.store(false);
    }
    Operation(const Operation&) = delete;
    bool siblings() const { return siblings_; }

   private:
    std::atomic<bool>& under_way_;
    bool siblings_ = true;
  };

  // For a thread that others count from now on, before it runs program code: whether it must wait.
  bool operates() const { return under_way_.load(); }

 private:
  std::atomic<bool> under_way_{false};
};

}  // namespace musubi::runtime
