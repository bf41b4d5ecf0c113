#include "launch/local/event_memory.h"

#include "bootstrap/local/inherited_memory.h"

namespace musubi::launch {

Result<EventMemory> EventMemory::make(std::uint32_t ranks, std::size_t events_per_thread) {
  EventMemory events;
  const std::size_t bytes = ranks * trace::EventLog::bytes(events_per_thread);
  auto file = os::create_memory_file(bootstrap::local::event_logs_name, bytes);
  if (!file) return file.error();
  events.file_ = std::move(file).value();
  auto memory = os::Mapping::anywhere(bytes, os::Protection::read_write, {events.file_.number(), 0});
  if (!memory) return memory.error();
  events.memory_ = std::move(memory).value();
  events.ranks_ = ranks;
  events.events_per_thread_ = events_per_thread;
  return events;
}

std::vector<trace::EventLog> EventMemory::logs() const {
  std::vector<trace::EventLog> logs;
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    logs.emplace_back(memory_.data() + rank * trace::EventLog::bytes(events_per_thread_), events_per_thread_);
  }
  return logs;
}

}  // namespace musubi::launch
