// The memory in which the ranks of a job record events for a trace: created by the launcher; each rank maps
// its own part (bootstrap/local/inherited_memory.h). It outlives the ranks, and needs no file on disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "os/memory.h"
#include "trace/event_log.h"

namespace musubi::launch {

class EventMemory {
 public:
  EventMemory() = default;  // no trace

  // Errors: no memory file.
  static Result<EventMemory> make(std::uint32_t ranks, std::size_t events_per_thread);

  int file() const { return file_.number(); }  // -1: no trace
  // By rank.
  std::vector<trace::EventLog> logs() const;

 private:
  os::FileDescriptor file_;
  os::Mapping memory_;
  std::uint32_t ranks_ = 0;
  std::size_t events_per_thread_ = 0;
};

}  // namespace musubi::launch
