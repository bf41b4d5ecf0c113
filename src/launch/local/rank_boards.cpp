#include "launch/local/rank_boards.h"

#include <utility>

#include "bootstrap/local/inherited_memory.h"

namespace musubi::launch {

using namespace bootstrap::local;

namespace {

Result<void> map_file(const char* name, std::size_t bytes, os::Protection protection,
                      os::FileDescriptor& file, os::Mapping& memory) {
  MUSUBI_ASSIGN_OR_RETURN(auto created, os::create_memory_file(name, bytes));
  MUSUBI_ASSIGN_OR_RETURN(auto mapped, os::Mapping::anywhere(bytes, protection, {created.number(), 0}));
  file = std::move(created);
  memory = std::move(mapped);
  return {};
}

}  // namespace

Result<WaitBoards> WaitBoards::make(std::uint32_t ranks) {
  WaitBoards boards;
  auto mapped = map_file(wait_boards_name, ranks * wait_board_bytes, os::Protection::read, boards.file_,
                         boards.memory_);
  if (!mapped) return mapped.error();
  return boards;
}

const trace::WaitBoard& WaitBoards::operator[](Rank rank) const {
  return *reinterpret_cast<const trace::WaitBoard*>(memory_.data() + rank.value * wait_board_bytes);
}

Result<EventMemory> EventMemory::make(std::uint32_t ranks, std::size_t events_per_thread) {
  EventMemory events;
  if (events_per_thread == 0) return events;
  events.events_per_thread_ = events_per_thread;
  auto mapped = map_file(event_logs_name, ranks * trace::EventLog::bytes(events_per_thread),
                         os::Protection::read_write, events.file_, events.memory_);
  if (!mapped) return mapped.error();
  return events;
}

std::vector<trace::EventLog> EventMemory::logs() const {
  std::vector<trace::EventLog> logs;
  const std::size_t log_bytes = trace::EventLog::bytes(events_per_thread_);
  for (std::size_t begin = 0; begin < memory_.bytes(); begin += log_bytes) {
    logs.emplace_back(memory_.data() + begin, events_per_thread_);
  }
  return logs;
}

}  // namespace musubi::launch
