// A waiting member asks its team for work: in a barrier, at the end of a region, and while it polls.
#include <gtest/gtest.h>
#include <omp.h>
#include <sched.h>

#include <atomic>
#include <ctime>

#include "omp/job.h"
#include "standin_runtime.h"

namespace musubi::testing {
namespace {

using runtime::Wait;

// Has some pieces of work for waits of one kind, and records which member did them.
class Pieces final : public omp::IdleWork {
 public:
  explicit Pieces(Wait kind) : kind_(kind) {}

  bool run_piece(Wait wait) noexcept override {
    if (wait != kind_ || done >= count) return false;
    member = static_cast<int>(omp::implicit_task().number);
    ++done;
    return true;
  }
  // Waits, but not for ever: a test whose pieces are never done must fail.
  bool all_done() const {
    for (const std::time_t end = std::time(nullptr) + 20; done < count && std::time(nullptr) < end;)
      sched_yield();
    return done == count;
  }

  static constexpr int count = 3;
  std::atomic<int> done{0};
  std::atomic<int> member{-1};

 private:
  const Wait kind_;
};

void give(Pieces& pieces) {
  omp::Job::current()->team.idle_work = &pieces;
}

void meet_in_a_barrier() {
  Pieces pieces(Wait::barrier);
  give(pieces);
  bool all_done = false;
#pragma omp parallel shared(pieces, all_done)
  {
    if (omp_get_thread_num() == 0) all_done = pieces.all_done();
#pragma omp barrier
  }
  EXPECT_TRUE(all_done);
  EXPECT_EQ(1, pieces.member);
}

TEST(IdleWork, is_done_in_a_barrier) {
  EXPECT_EQ(0, run_job({1, 2, {}}, meet_in_a_barrier));
}

TEST(IdleWork, is_done_in_a_barrier_that_can_be_cancelled) {
  EXPECT_EQ(0, run_job({1, 2, {{"OMP_CANCELLATION", "true"}}}, meet_in_a_barrier));
}

TEST(IdleWork, is_done_at_the_end_of_a_region) {
  const auto body = [] {
    Pieces pieces(Wait::join);
    give(pieces);
    bool all_done = false;
#pragma omp parallel shared(pieces, all_done)
    if (omp_get_thread_num() == 1) all_done = pieces.all_done();
    EXPECT_TRUE(all_done);
    EXPECT_EQ(0, pieces.member);
  };
  EXPECT_EQ(0, run_job({1, 2, {}}, body));
}

TEST(IdleWork, is_done_between_two_looks_at_a_word) {
  const auto body = [] {
    Pieces pieces(Wait::turn);
    give(pieces);
    bool all_done = false;
#pragma omp parallel for ordered schedule(static, 1) shared(pieces, all_done)
    for (int i = 0; i < 2; ++i) {
      if (i == 0) all_done = pieces.all_done();
#pragma omp ordered
      EXPECT_EQ(1, pieces.member);
    }
    EXPECT_TRUE(all_done);
  };
  EXPECT_EQ(0, run_job({1, 2, {}}, body));
}

}  // namespace
}  // namespace musubi::testing
