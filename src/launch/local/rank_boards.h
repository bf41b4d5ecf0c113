// The memory that the launcher shares with its ranks, each of which maps its own part
// (bootstrap/local/inherited_memory.h). It outlives the ranks, and needs no file on disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "os/memory.h"
#include "trace/event_log.h"
#include "trace/wait_records.h"

namespace musubi::launch {

// Where ranks record the waits of their threads.
class WaitBoards {
 public:
  // Errors: no memory file.
  static Result<WaitBoards> make(std::uint32_t ranks);

  int file() const { return file_.number(); }
  const trace::WaitBoard& operator[](Rank rank) const;

 private:
  os::FileDescriptor file_;
  os::Mapping memory_;
};

// Where ranks record events for a trace.
class EventMemory {
 public:
  EventMemory() = default;  // no trace

  // No trace without events. Errors: no memory file.
  static Result<EventMemory> make(std::uint32_t ranks, std::size_t events_per_thread);

  int file() const { return file_.number(); }  // -1: no trace
  // By rank.
  std::vector<trace::EventLog> logs() const;

 private:
  os::FileDescriptor file_;
  os::Mapping memory_;
  std::size_t events_per_thread_ = 0;
};

}  // namespace musubi::launch
