// A thread to be made at another rank, as plain data: its function, what it inherits from its creator, and
// its attributes.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <threads.h>

#include <cstdint>

#include "base/address_range.h"
#include "image/threads/thread_stacks.h"
#include "omp/process.h"
#include "os/thread_state.h"

namespace musubi::image {

// What a new thread begins with.
struct ThreadWork {
  ThreadWork() = default;
  ThreadWork(ThreadStart function, void* given)
      : code(reinterpret_cast<void (*)()>(function)), argument(given) {}
  ThreadWork(thrd_start_t function, void* given)
      : code(reinterpret_cast<void (*)()>(function)), argument(given), is_standard(true) {}

  void* run() const;
  // The code of run(). A function of the program that ends with a call, as a jump, seems to be called from
  // there: these callers belong to the program.
  static AddressRange code_of_run() noexcept;

  void (*code)() = nullptr;
  void* argument = nullptr;
  bool is_standard = false;  // as C11 has it: it returns an int
};

// The parts of pthread_attr_t that mean something at another rank. Its size of the stack is none: the stacks
// of a rank are equal, and a thread that asks for more does not travel.
struct CarriedAttributes {
  int detach_state = PTHREAD_CREATE_JOINABLE;
  bool schedules_itself = false;  // PTHREAD_EXPLICIT_SCHED
  int policy = 0;
  sched_param parameters{};
  bool has_processors = false;
  cpu_set_t processors{};
  bool has_mask = false;
  sigset_t mask{};
};

struct CarriedThread {
  ThreadWork work;
  std::uint64_t channel = 0;  // through which the creator has passed on its writes
  CarriedAttributes attributes;
  omp::InheritedState inherited;
  os::FloatingPointModes modes;

  // `attributes` may be null. On the creating thread, whose state the new one inherits.
  static CarriedThread from_here(const ThreadWork& work, const pthread_attr_t* attributes,
                                 std::uint64_t channel);
  // For pthread_create at the other rank: what the system may refuse there. The caller destroys them.
  void fill(pthread_attr_t& attributes) const;
  // On the new thread, before the program's function: state that the other rank forbids is left out.
  void take_over() const;
};

}  // namespace musubi::image
