// What each thread of a job waits for, in memory that the launcher reads while the ranks run. Written with
// relaxed stores by the thread itself; a reader may see a mixture of two moments, and looks twice.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace musubi::trace {

enum class Wait : std::uint32_t {
  nothing,  // the program's code runs, or sleeps in a system call
  region,   // an idle thread, for the next parallel region
  barrier,
  join,           // for the others to end the region
  lock,           // object: id of the lock, address: its variable
  numbered_lock,  // that the program knows by its number: object
  single,         // for the end of a single that another thread runs; object: its number
  turn,           // of an ordered region; object: the position in the loop
  iteration,      // of a doacross loop
  loop,           // that an earlier loop's place gets free
  condition,      // variable; address
  signal,         // of a condition that the program knows by its number: object
  once,           // an initialisation that another thread is at; address
  flag,           // flushes again and again, and nothing comes; a spin
  atomic,         // atomic operations on one word again and again that change nothing; address
  yield,          // yields again and again (taskyield); a spin
  peer,           // an answer of another rank; object: that rank or all
};

// Waits that consist of calls which bring nothing.
inline bool is_spin(Wait wait) {
  return wait == Wait::flag || wait == Wait::atomic || wait == Wait::yield;
}

struct alignas(128) WaitRecord {
  std::atomic<std::int32_t> thread_id;  // the kernel's; 0: nobody's
  std::atomic<Wait> wait;
  std::atomic<std::uint64_t> object;
  std::atomic<std::uint64_t> address;
  std::atomic<std::uint64_t> call_site;  // in the program: behind its last call into the runtime
  std::atomic<std::uint64_t> moves;      // waits that have ended
  std::atomic<std::uint64_t> looks;      // of spins: a thread that looks no more does something else
  std::atomic<std::uint32_t> team_number;
  std::atomic<std::uint32_t> team_size;  // 0: in no region
  std::atomic<std::uint64_t> task;       // function of the explicit task that it runs, or 0
  static constexpr std::size_t held_max = 8;
  std::array<std::atomic<std::uint32_t>, held_max> held;  // ids of the locks it has, plus 1
};

struct WaitBoard {
  static constexpr std::size_t records_max = 1024;
  std::atomic<std::uint32_t> records;         // the first of them have been in use
  std::atomic<std::uint32_t> without_record;  // threads for which there was none
  std::array<WaitRecord, records_max> threads;
};

}  // namespace musubi::trace
