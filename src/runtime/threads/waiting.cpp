#include "runtime/threads/waiting.h"

#include <unistd.h>

namespace musubi::runtime {

using trace::WaitBoard;
using trace::WaitRecord;

constinit thread_local WaitRecord* wait_record_of_thread = nullptr;

namespace {

void clear(WaitRecord& record) {
  record.wait.store(Wait::nothing, std::memory_order_relaxed);
  record.call_site.store(0, std::memory_order_relaxed);
  record.team_size.store(0, std::memory_order_relaxed);
  record.task.store(0, std::memory_order_relaxed);
  for (auto& held : record.held) held.store(0, std::memory_order_relaxed);
}

// Readers stop at the highest record that was ever in use.
void raise(std::atomic<std::uint32_t>& count, std::uint32_t least) {
  std::uint32_t seen = count.load(std::memory_order_relaxed);
  while (seen < least && !count.compare_exchange_weak(seen, least, std::memory_order_relaxed)) {
  }
}

}  // namespace

void open_wait_record(WaitBoard* board) noexcept {
  if (board == nullptr || wait_record_of_thread != nullptr) return;
  for (std::uint32_t i = 0; i < WaitBoard::records_max; ++i) {
    WaitRecord& record = board->threads[i];
    std::int32_t nobody = 0;
    if (!record.thread_id.compare_exchange_strong(nobody, ::gettid(), std::memory_order_relaxed)) continue;
    clear(record);
    raise(board->records, i + 1);
    wait_record_of_thread = &record;
    return;
  }
  board->without_record.fetch_add(1, std::memory_order_relaxed);
}

void close_wait_record() noexcept {
  WaitRecord* const record = wait_record_of_thread;
  if (record == nullptr) return;
  clear(*record);
  wait_record_of_thread = nullptr;
  record->thread_id.store(0, std::memory_order_relaxed);
}

void note_lock_taken(std::uint32_t lock) noexcept {
  WaitRecord* const record = wait_record_of_thread;
  if (record == nullptr) return;
  for (auto& held : record->held) {
    if (held.load(std::memory_order_relaxed) != 0) continue;
    held.store(lock + 1, std::memory_order_relaxed);
    return;
  }
}

void note_lock_given_back(std::uint32_t lock) noexcept {
  WaitRecord* const record = wait_record_of_thread;
  if (record == nullptr) return;
  for (auto& held : record->held) {
    if (held.load(std::memory_order_relaxed) != lock + 1) continue;
    held.store(0, std::memory_order_relaxed);
    return;
  }
}

void note_spin(Wait wait, std::uint64_t address) noexcept {
  WaitRecord* const record = wait_record_of_thread;
  if (record == nullptr) return;
  const Wait before = record->wait.load(std::memory_order_relaxed);
  if (before != Wait::nothing && !trace::is_spin(before)) return;
  record->address.store(address, std::memory_order_relaxed);
  record->looks.store(record->looks.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  record->wait.store(wait, std::memory_order_relaxed);
}

void note_moved() noexcept {
  WaitRecord* const record = wait_record_of_thread;
  if (record == nullptr) return;
  const Wait before = record->wait.load(std::memory_order_relaxed);
  if (!trace::is_spin(before)) return;
  record->moves.store(record->moves.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  record->wait.store(Wait::nothing, std::memory_order_relaxed);
}

}  // namespace musubi::runtime
