// Messages of the heap: sent by this rank's threads, executed by its service thread.
#pragma once

#include "runtime/api/messages.h"
#include "runtime/job/heap_service.h"
#include "runtime/job/job_threads.h"

namespace musubi::runtime {

class JobMessages final : public Messages {
 public:
  JobMessages(fabric::Fabric& fabric, JobThreads& threads) : heap_(fabric), threads_(threads) {}

  void set_heap_listener(HeapListener* listener) override { heap_.set_listener(listener); }
  void send_free(Rank owner, std::uintptr_t address, std::size_t bytes) override {
    threads_.executor().run(heap_.send_free(owner, address, bytes));
  }
  std::size_t query_size(Rank owner, std::uintptr_t address) override {
    return threads_.executor().run(heap_.query_size(owner, address));
  }

  // As HeapService::serve. On the service thread only.
  bool serve() { return heap_.serve(); }

 private:
  HeapService heap_;
  JobThreads& threads_;
};

}  // namespace musubi::runtime
