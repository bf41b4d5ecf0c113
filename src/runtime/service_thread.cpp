#include "runtime/service_thread.h"

#include <sched.h>

#include <string>

namespace musubi::runtime {

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
    if (memory_watch.is_due()) {
      if (const std::string line = memory_watch.shortage(); !line.empty()) job_.abort(1, line);
    }
    if (!answered) {
      ::sched_yield();  // the asker waits, and so empties its mailbox
    } else if (idle) {
      fabric.wait_for_service();
    }
  }
}

}  // namespace musubi::runtime
