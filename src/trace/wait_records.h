// The current wait of each thread of a job, in memory that the launcher reads while the ranks run. The thread
// itself writes with relaxed stores; a reader may see a mixture of two moments, so it reads twice.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace musubi::trace {

enum class Wait : std::uint32_t {
  nothing,  // runs the program's code, or sleeps in a system call
  region,   // an idle thread waits for the next parallel region
  barrier,
  join,           // waits for the other threads to end the region
  lock,           // object: id of the lock; address: its variable
  numbered_lock,  // a lock that the program knows by its number: object
  single,         // the end of a single that another thread runs; object: its number
  turn,           // of an ordered region; object: the position in the loop
  iteration,      // of a doacross loop
  reduction,      // copies of other threads, or their being combined; object: their rank
  loop,           // a free slot for a loop, still used by an earlier loop
  tasks,          // the end of tasks that the thread's task made, or on which it depends
  condition,      // condition variable; address
  signal,         // a condition that the program knows by its number: object
  once,           // an initialisation that another thread runs; address
  flag,           // repeated flushes that bring no change: a spin-wait
  atomic,         // repeated atomic operations on one word that change nothing; address
  yield,          // repeated yields (taskyield): a spin-wait
  peer,           // a reply of another rank; object: that rank, or all ranks
};

// Waits that consist of repeated calls without effect.
inline bool is_spin(Wait wait) {
  return wait == Wait::flag || wait == Wait::atomic || wait == Wait::yield;
}

struct alignas(128) WaitRecord {
  std::atomic<std::int32_t> thread_id;  // kernel thread id of the owner; 0: no owner
  std::atomic<Wait> wait;
  std::atomic<std::uint64_t> object;
  std::atomic<std::uint64_t> address;
  std::atomic<std::uint64_t> call_site;  // return address of its last call into the runtime
  std::atomic<std::uint64_t> moves;      // waits that have ended
  std::atomic<std::uint64_t> looks;      // polls of a spin-wait; constant: no longer a spin
  std::atomic<std::uint32_t> team_number;
  std::atomic<std::uint32_t> team_size;  // 0: in no region
  std::atomic<std::uint64_t> task;       // function of the explicit task that it runs, or 0
  static constexpr std::size_t held_max = 8;
  std::array<std::atomic<std::uint32_t>, held_max> held;  // ids of its locks, plus 1
};

struct WaitBoard {
  static constexpr std::size_t records_max = 1024;
  std::atomic<std::uint32_t> records;         // records ever used; they have the lowest indices
  std::atomic<std::uint32_t> without_record;  // threads that found no free record
  std::array<WaitRecord, records_max> threads;
};

}  // namespace musubi::trace
