// Signals that arrive while a thread is inside the runtime: their handlers run after it has left, with the
// original signal information, and in order.
#include "runtime/threads/deferred_handlers.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <vector>

namespace musubi::runtime {
namespace {

constexpr int signal_of_test = 40;

std::vector<int>* handled = nullptr;

void enter(int signal, siginfo_t* information, void* context) {
  if (DeferredHandlers::defer(signal, *information, *static_cast<ucontext_t*>(context))) return;
  EXPECT_EQ(information->si_code, SI_QUEUE);
  handled->push_back(information->si_value.sival_int);
}

void send(int value) {
  ASSERT_EQ(::pthread_sigqueue(::pthread_self(), signal_of_test, sigval{value}), 0);
}

class HeldHandlersTest : public testing::Test {
 protected:
  HeldHandlersTest() {
    handled = &values;
    struct sigaction action {};
    action.sa_sigaction = enter;
    action.sa_flags = SA_SIGINFO;
    os::set_signal_action(signal_of_test, &action, &before);
  }
  ~HeldHandlersTest() override { os::set_signal_action(signal_of_test, &before, nullptr); }

  std::vector<int> values;
  struct sigaction before {};
};

TEST_F(HeldHandlersTest, runs_at_once_outside) {
  send(1);
  EXPECT_EQ(values, std::vector{1});
}

TEST_F(HeldHandlersTest, waits_for_the_last_step_out) {
  {
    const DeferredHandlers outer;
    {
      const DeferredHandlers inner;
      send(7);
    }
    EXPECT_TRUE(values.empty());
  }
  EXPECT_EQ(values, std::vector{7});
}

TEST_F(HeldHandlersTest, keeps_the_order) {
  std::vector<int> sent;
  {
    const DeferredHandlers inside;
    for (int value = 0; value < 5; ++value) {
      send(value);
      sent.push_back(value);
    }
    EXPECT_TRUE(values.empty());
  }
  EXPECT_EQ(values, sent);
}

TEST_F(HeldHandlersTest, gives_the_mask_back) {
  const os::SignalBits mask = os::set_signal_mask(SIG_BLOCK, 0);
  {
    const DeferredHandlers inside;
    send(3);
    EXPECT_EQ(os::set_signal_mask(SIG_BLOCK, 0), mask | os::signal_bit(signal_of_test));
  }
  EXPECT_EQ(os::set_signal_mask(SIG_BLOCK, 0), mask);
}

TEST_F(HeldHandlersTest, waits_for_an_outer_mask) {
  os::set_signal_mask(SIG_BLOCK, os::signal_bit(signal_of_test));
  {
    const DeferredHandlers inside;
    send(4);
  }
  EXPECT_TRUE(values.empty());
  os::set_signal_mask(SIG_UNBLOCK, os::signal_bit(signal_of_test));
  EXPECT_EQ(values, std::vector{4});
}

}  // namespace
}  // namespace musubi::runtime
