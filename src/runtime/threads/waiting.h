// The calling thread's record of its waits (trace/wait_records.h). Costs a few relaxed stores; nothing
// without a record (no launcher reads it, or too many threads).
#pragma once

#include <cstdint>

#include "trace/wait_records.h"

namespace musubi::runtime {

using trace::Wait;

// Thread-local, because waits have no argument to carry it.
extern constinit thread_local trace::WaitRecord* wait_record_of_thread;

// Gives the calling thread a record on the rank's board; gives it back.
void open_wait_record(trace::WaitBoard* board) noexcept;
void close_wait_record() noexcept;

// Defined by the linker: the code of the library (or program) that contains the runtime.
extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start[];
extern "C" __attribute__((visibility("hidden"))) const char etext[];

// The address in the program of its last call. A tail call of a wrapper leads back to the runtime itself:
// then the earlier note is kept.
inline void note_call(const void* call_site) noexcept {
  trace::WaitRecord* const record = wait_record_of_thread;
  const auto* const place = static_cast<const char*>(call_site);
  if (record == nullptr || (place >= __ehdr_start && place < etext)) return;
  record->call_site.store(reinterpret_cast<std::uintptr_t>(call_site), std::memory_order_relaxed);
}

// The program's function starts to run: until it makes a call, reports name it. (The record holds return
// addresses, hence the + 1.)
inline void note_entry(std::uint64_t function) noexcept {
  note_call(reinterpret_cast<const char*>(function) + 1);
}

inline void note_team(std::uint32_t number, std::uint32_t size) noexcept {
  trace::WaitRecord* const record = wait_record_of_thread;
  if (record == nullptr) return;
  record->team_number.store(number, std::memory_order_relaxed);
  record->team_size.store(size, std::memory_order_relaxed);
}

// The thread runs an explicit task from now on, or none (0). Result: the previous task.
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

// The thread waits for `object` during its scope. Nested waits are not recorded.
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

// The thread runs the program's code during its scope, though it waits.
class PausedWait {
 public:
  PausedWait() noexcept : record_(wait_record_of_thread) {
    if (record_ == nullptr) return;
    wait_ = record_->wait.load(std::memory_order_relaxed);
    record_->wait.store(Wait::nothing, std::memory_order_relaxed);
  }
  ~PausedWait() {
    if (record_ != nullptr) record_->wait.store(wait_, std::memory_order_relaxed);
  }
  PausedWait(const PausedWait&) = delete;
  PausedWait& operator=(const PausedWait&) = delete;

 private:
  trace::WaitRecord* const record_;
  Wait wait_ = Wait::nothing;
};

// A wait made of calls that find no change: lasts until another wait, or until note_moved().
void note_spin(Wait wait, std::uint64_t address) noexcept;
void note_moved() noexcept;

}  // namespace musubi::runtime
