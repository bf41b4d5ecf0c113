// Named semaphores (sem_open): every rank of one host maps the semaphore's file. Rank 0 keeps the list of
// open ones, as a process does.
#pragma once

#include <semaphore.h>
#include <sys/types.h>

#include <mutex>
#include <vector>

#include "image/memory/mappings.h"
#include "runtime/api/runtime.h"

namespace musubi::image {

class NamedSemaphores final : private runtime::Procedure {
 public:
  // Collective, before the program runs.
  void start(runtime::Runtime& runtime, Mappings& mappings);

  // As sem_open(3) and sem_close(3); over several hosts ENOSYS, with a message. Attached threads.
  sem_t* open(const char* name, int flags, mode_t mode, unsigned value) noexcept;
  int close(sem_t* semaphore) noexcept;

 private:
  enum class Kind : std::uint32_t { open, close };
  static constexpr std::size_t name_bytes = 256;
  struct Request {
    Kind kind;
    int flags;
    mode_t mode;
    unsigned value;
    sem_t* semaphore;  // close
    char name[name_bytes];
  };
  struct Open {
    dev_t device;
    ino_t file;
    sem_t* semaphore;
    unsigned count;
  };

  // Result: -errno, or 0 with the address as reply.
  runtime::Answer run(Rank caller, std::span<const std::byte> request,
                      std::span<std::byte> reply) noexcept override;
  int open_here(const Request& request, sem_t*& semaphore) noexcept;
  int map(const char* name, sem_t*& semaphore) noexcept;
  int close_here(sem_t* semaphore) noexcept;

  runtime::Runtime* runtime_ = nullptr;
  Mappings* mappings_ = nullptr;
  sem_t* (*next_open_)(const char*, int, ...) = nullptr;
  int (*next_close_)(sem_t*) = nullptr;
  std::mutex changing_;  // at rank 0
  std::vector<Open> open_;
};

}  // namespace musubi::image
