#include "waiting_suite.h"

#include <sched.h>

#include <thread>

#include "os/clock.h"

namespace musubi::fabric::conformance {
namespace {

class Count final : public Listener {
 public:
  const char* on_message(Rank, std::span<const std::byte>) noexcept override {
    number.fetch_add(1);
    return nullptr;
  }
  std::atomic<unsigned> number{0};
};

}  // namespace

TEST_P(WaitingSuite, ReadyAndWakeEndEveryWait) {
  join();
  for (unsigned round = 0; round < 2000; ++round) {
    std::atomic<bool> ready{false};
    std::thread first([&] {
      while (!ready.load()) fabric(0).wait(ready);
    });
    std::thread second([&] {
      while (!ready.load()) fabric(0).wait(ready);
    });
    if (round % 2 == 0) ::sched_yield();
    ready.store(true);
    fabric(0).wake();
    first.join();
    second.join();
  }
}

TEST_P(WaitingSuite, WakeServiceIsNotLostBeforeTheSleep) {
  join();
  for (unsigned round = 0; round < 2000; ++round) {
    fabric(0).wake_service();
    fabric(0).wait_for_service();  // would sleep for ever
    std::thread waker([&] { fabric(0).wake_service(); });
    fabric(0).wait_for_service();
    waker.join();
  }
}

// Waiters that arrive and leave, a service thread, and a sender: every prompt message is delivered although
// no thread calls progress() on purpose.
TEST_P(WaitingSuite, NoPromptMessageIsStranded) {
  join();
  constexpr unsigned bursts = 20000;
  Count count;
  fabric(0).listen(MessageKind::unassigned, &count);
  std::atomic<bool> stop{false};
  std::thread service([&] {
    while (!stop.load()) {
      fabric(0).wait_for_service();
      fabric(0).progress();
    }
  });
  std::atomic<bool> ready{false};
  std::thread visitor([&] {
    while (!stop.load()) {
      fabric(0).wait(ready);  // leaves without progress()
      for (unsigned i = 0; i < 20; ++i) os::monotonic_ns();
    }
  });
  for (unsigned sent = 1; sent <= bursts; ++sent) {
    while (fabric(1).send(Rank{0}, MessageKind::unassigned, Urgency::promptly, {}) == Outcome::busy)
      ::sched_yield();
    if (sent % 8 == 0) ready.store(sent % 16 == 0);
    if (sent % 16 == 0) fabric(0).wake();
    const std::uint64_t patience_ends_ns = os::monotonic_ns() + 20'000'000'000u;
    while (count.number.load() < sent) {
      ASSERT_LT(os::monotonic_ns(), patience_ends_ns) << "message " << sent << " is stranded";
      fabric(1).progress();  // as the sender's service thread would: a driver may connect first
      ::sched_yield();
    }
  }
  stop.store(true);
  ready.store(true);
  fabric(0).wake();
  fabric(0).wake_service();
  service.join();
  visitor.join();
}

}  // namespace musubi::fabric::conformance
