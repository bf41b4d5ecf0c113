// Keys of thread-specific data (pthread_key_create): the program keeps their numbers in shared memory, so a
// number is the same key on all ranks.
#pragma once

#include <pthread.h>

#include <mutex>

#include "runtime/api/runtime.h"

namespace musubi::image {

class ThreadKeys final : private runtime::Procedure {
 public:
  using Destructor = void (*)(void*);

  // Collective, before the program runs.
  void start(runtime::Runtime& runtime);

  // As pthread_key_create(3) and pthread_key_delete(3), at every rank. Attached threads.
  int create(pthread_key_t* key, Destructor destructor) noexcept;
  int remove(pthread_key_t key) noexcept;

 private:
  enum class Request : std::uint32_t { create, take, remove };
  struct Message {
    Request request;
    pthread_key_t key;
    Destructor destructor;
  };

  runtime::Answer run(Rank caller, std::span<const std::byte> request,
                      std::span<std::byte> reply) noexcept override;
  int create_everywhere(pthread_key_t& key, Destructor destructor) noexcept;
  bool take_everywhere(pthread_key_t key, Destructor destructor) noexcept;
  int take_here(pthread_key_t key, Destructor destructor) noexcept;
  int remove_everywhere(pthread_key_t key) noexcept;

  runtime::Runtime* runtime_ = nullptr;
  int (*next_create_)(pthread_key_t*, Destructor) = nullptr;
  int (*next_remove_)(pthread_key_t) = nullptr;
  std::mutex choosing_;  // at rank 0
};

}  // namespace musubi::image
