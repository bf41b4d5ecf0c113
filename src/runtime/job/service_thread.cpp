#include "runtime/job/service_thread.h"

#include <sched.h>

#include <string>

#include "os/clock.h"

namespace musubi::runtime {
namespace {

constexpr std::uint64_t nap_ns = 1'000'000;

}  // namespace

ServiceThread::~ServiceThread() {
  stopping_.store(true);
  if (!thread_.joinable()) return;
  devices_.fabric().wake_service();
  thread_.join();
}

void ServiceThread::work() {
  fabric::Fabric& fabric = devices_.fabric();
  MemoryWatch& memory_watch = devices_.memory_watch();
  while (!stopping_.load()) {
    const bool idle = !fabric.progress();
    const bool answered = messages_.serve();
    ending_.follow();
    calls_.keep_up();
    if (job_.one_memory && memory_watch.is_due()) {
      if (const std::string line = memory_watch.shortage(); !line.empty()) job_.abort(1, line);
    }
    if (!answered) {
      ::sched_yield();  // the waiting caller empties its mailbox
    } else if (idle && devices_.job_fabric().has_lost_a_peer()) {
      if (const std::string line = devices_.job_fabric().reason_to_end(); !line.empty()) job_.abort(1, line);
      os::sleep_ns(nap_ns);
    } else if (idle) {
      fabric.wait_for_service();
    }
  }
}

}  // namespace musubi::runtime
