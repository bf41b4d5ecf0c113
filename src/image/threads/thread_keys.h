// Keys of thread-specific data (pthread_key_create): the program keeps their numbers in shared memory, so a
// number is the same key on all ranks.
#pragma once

#include <pthread.h>

#include <mutex>

#include "image/process/owner_calls.h"
#include "runtime/api/runtime.h"

namespace musubi::image {

class ThreadKeys {
 public:
  using Destructor = void (*)(void*);

  // Collective, before the program runs.
  void start(runtime::Runtime& runtime);

  // As pthread_key_create(3) and pthread_key_delete(3), at every rank. Attached threads.
  int create(pthread_key_t* key, Destructor destructor) noexcept;
  int remove(pthread_key_t key) noexcept;

 private:
  // At rank 0, which chooses the number.
  int create_everywhere(Destructor destructor, pthread_key_t& key) noexcept;
  bool take_everywhere(pthread_key_t key, Destructor destructor) noexcept;
  // At each rank.
  int take_here(pthread_key_t key, Destructor destructor) noexcept;
  int remove_here(pthread_key_t key) noexcept { return next_remove_(key); }

  runtime::Runtime* runtime_ = nullptr;
  int (*next_create_)(pthread_key_t*, Destructor) = nullptr;
  int (*next_remove_)(pthread_key_t) = nullptr;
  std::mutex choosing_;  // at rank 0
  OwnerCalls<&ThreadKeys::create_everywhere, &ThreadKeys::take_here, &ThreadKeys::remove_here> calls_;
};

}  // namespace musubi::image
