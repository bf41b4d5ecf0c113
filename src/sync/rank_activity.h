// The activity of a rank's threads, which decides who may modify open pages in place.
//
// Three parties: an operation of the only thread that runs program code changes open pages, because no thread
// looks at them. At a quiescent barrier no thread of the rank runs program code. The background
// (sync/background.h) works while program threads run, and neither an operation nor such a barrier is in
// progress. An operation that begins during that time does not change open pages.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/check.h"

namespace musubi::sync {

class RankActivity {
 public:
  // An operation that changes open pages if no other thread runs program code. It never waits for program
  // code: a thread that starts during it waits for its end, and so does the background.
  class Operation {
   public:
    // `others` is called once: whether there are other threads.
    template <class Others>
    Operation(RankActivity& activity, Others&& others) : under_way_(activity.under_way_) {
      under_way_.store(true);
      siblings_ = others() || activity.background_.load();
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

  // For a new thread, counted from now on, before it runs program code: whether it must wait.
  bool operates() const { return under_way_.load(); }

  // Around each barrier of the rank. The rank then waits until the background has ended.
  void enter_barrier(bool quiescent) {
    MUSUBI_CHECK(barrier() == Barrier::none);
    barrier_.store(quiescent ? Barrier::quiescent : Barrier::beside_others);
  }
  bool background_works() const { return background_.load(); }
  // All earlier writes of the rank have been released. At a barrier that is not quiescent this says nothing:
  // other threads go on writing.
  void note_release_at_barrier() {
    if (barrier() == Barrier::quiescent) barrier_.store(Barrier::quiescent_released);
  }
  bool has_released_at_barrier() const { return barrier_.load() == Barrier::quiescent_released; }
  void leave_barrier() {
    MUSUBI_CHECK(barrier() != Barrier::none);
    barrier_.store(Barrier::none);
  }

  // One word, so that a release seen at one barrier is not taken for that of the next.
  enum class Barrier : std::uint8_t { none, beside_others, quiescent, quiescent_released };
  Barrier barrier() const { return barrier_.load(); }
  bool is_at_quiescent_barrier() const { return barrier() >= Barrier::quiescent; }

  // From now on other program threads may appear while the rank is at a barrier.
  void expect_others() { expects_others_.store(true); }
  bool expects_others() const { return expects_others_.load(); }

  // For the background: begins. It may work if the rank is at no quiescent barrier and operates() is false;
  // otherwise it ends. At a barrier that other threads of the program outlast it works for them: they may
  // wait for plain words.
  void begin_background() { MUSUBI_CHECK(!background_.exchange(true)); }
  void end_background() { MUSUBI_CHECK(background_.exchange(false)); }

 private:
  std::atomic<bool> under_way_{false};
  std::atomic<bool> background_{false};
  std::atomic<Barrier> barrier_{Barrier::none};
  std::atomic<bool> expects_others_{false};
};

}  // namespace musubi::sync
