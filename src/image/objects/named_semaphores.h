// Named semaphores (sem_open): every rank of one host maps the semaphore's file. Rank 0 keeps the list of
// open ones, as a process does.
#pragma once

#include <semaphore.h>
#include <sys/types.h>

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "image/memory/mappings.h"
#include "image/process/owner_calls.h"
#include "runtime/api/runtime.h"

namespace musubi::image {

class NamedSemaphores {
 public:
  // Collective, before the program runs.
  void start(runtime::Runtime& runtime, Mappings& mappings);

  // As sem_open(3) and sem_close(3); over several hosts ENOSYS, with a message. Attached threads.
  sem_t* open(const char* name, int flags, mode_t mode, unsigned value) noexcept;
  int close(sem_t* semaphore) noexcept;

 private:
  struct Open {
    dev_t device;
    ino_t file;
    sem_t* semaphore;
    unsigned count;
  };

  // At rank 0. Results: 0 or an error number.
  int open_here(int flags, mode_t mode, unsigned value, sem_t*& semaphore, std::string_view name) noexcept;
  int close_here(sem_t* semaphore) noexcept;
  int map(const std::string& name, sem_t*& semaphore) noexcept;

  runtime::Runtime* runtime_ = nullptr;
  Mappings* mappings_ = nullptr;
  sem_t* (*next_open_)(const char*, int, ...) = nullptr;
  int (*next_close_)(sem_t*) = nullptr;
  std::mutex changing_;  // at rank 0
  std::vector<Open> open_;
  OwnerCalls<&NamedSemaphores::open_here, &NamedSemaphores::close_here> calls_;
};

}  // namespace musubi::image
