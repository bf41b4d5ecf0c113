// The calling thread's record of what it waits for (trace/wait_records.h). Costs a few relaxed stores;
// without a record (no launcher that reads it, or too many threads) nothing.
#pragma once

#include <cstdint>

#include "trace/wait_records.h"

namespace musubi::runtime {

using trace::Wait;

// Thread-local, because what waits has no argument that could carry it.
extern constinit thread_local trace::WaitRecord* wait_record_of_thread;

// Gives the calling thread a record on the rank's board; gives it back.
void open_wait_record(trace::WaitBoard* board) noexcept;
void close_wait_record() noexcept;

// Set by the linker: the code of the library (or program) that the runtime is a part of.
extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start[];
extern "C" __attribute__((visibility("hidden"))) const char etext[];

// The address in the program from which it called. A call that was a function's last deed leads back to the
// runtime itself: then the earlier note tells more.
inline void note_call(const void* call_site) noexcept {
  trace::WaitRecord* const record = wait_record_of_thread;
  const auto* const place = static_cast<const char*>(call_site);
  if (record == nullptr || (place >= __ehdr_start && place < etext)) return;
  record->call_site.store(reinterpret_cast<std::uintptr_t>(call_site), std::memory_order_relaxed);
}

// The program's function begins to run: until it calls, reports name it. (Noted is where a call returns to,
// which lies behind it.)
inline void note_entry(std::uint64_t function) noexcept {
  note_call(reinterpret_cast<const char*>(function) + 1);
}

inline void note_team(std::uint32_t number, std::uint32_t size) noexcept {
  trace::WaitRecord* const record = wait_record_of_thread;
  if (record == nullptr) return;
  record->team_number.store(number, std::memory_order_relaxed);
  record->team_size.store(size, std::memory_order_relaxed);
}

// The thread runs an explicit task from now on, or none (0). Result: the one before.
inline std::uint64_t note_task(std::uint64_t function) noexcept {
  trace::WaitRecord* const record = wait_record_of_thread;
  if (record == nullptr) return 0;
  const std::uint64_t before = record->task.load(std::memory_order_relaxed);
  record->task.store(function, std::memory_order_relaxed);
  return before;
}

void note_lock_taken(std::uint32_t lock) noexcept;
// Also by another thread than the one that took it.
void note_lock_given_back(std::uint32_t lock) noexcept;

// As long as it lives, the thread waits for that. Waits inside of it are not told.
class Waiting {
 public:
  explicit Waiting(Wait wait, std::uint64_t object = 0, std::uint64_t address = 0) noexcept
      : record_(wait_record_of_thread) {
    if (record_ == nullptr) return;
    const Wait before = record_->wait.load(std::memory_order_relaxed);
    if (before != Wait::nothing && (!trace::is_spin(before) || wait == Wait::peer)) {
      record_ = nullptr;
      return;
    }
    record_->object.store(object, std::memory_order_relaxed);
    record_->address.store(address, std::memory_order_relaxed);
    record_->wait.store(wait, std::memory_order_relaxed);
  }
  ~Waiting() {
    if (record_ == nullptr) return;
    record_->moves.store(record_->moves.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    record_->wait.store(Wait::nothing, std::memory_order_relaxed);
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  trace::WaitRecord* record_;
};

// A wait that consists of calls which bring nothing: lasts until another wait, or until moved().
void note_spin(Wait wait, std::uint64_t address) noexcept;
void note_moved() noexcept;

}  // namespace musubi::runtime
