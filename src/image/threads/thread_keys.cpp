#include "image/threads/thread_keys.h"

#include <cerrno>
#include <vector>

#include "image/process/real_function.h"

namespace musubi::image {

void ThreadKeys::start(runtime::Runtime& runtime) {
  runtime_ = &runtime;
  next_create_ = reinterpret_cast<decltype(next_create_)>(next_definition("pthread_key_create"));
  next_remove_ = reinterpret_cast<decltype(next_remove_)>(next_definition("pthread_key_delete"));
  calls_.start(runtime, procedures::thread_keys, *this);
}

// Rank 0 chooses for all ranks, so that two ranks that create keys at the same time do not collide.
int ThreadKeys::create(pthread_key_t* key, Destructor destructor) noexcept {
  pthread_key_t made = 0;
  const auto error = static_cast<int>(calls_.at<&ThreadKeys::create_everywhere>(Rank{0}, destructor, made));
  if (error == 0) *key = made;
  return error;
}

int ThreadKeys::remove(pthread_key_t key) noexcept {
  const int error = next_remove_(key);
  if (error == 0) calls_.at_others<&ThreadKeys::remove_here>(key);
  return error;
}

// At rank 0. Skips a number that another rank uses for a private key.
int ThreadKeys::create_everywhere(Destructor destructor, pthread_key_t& key) noexcept {
  const std::lock_guard held(choosing_);
  std::vector<pthread_key_t> left_out;
  int error = 0;
  while (true) {
    error = next_create_(&key, destructor);
    if (error != 0 || take_everywhere(key, destructor)) break;
    left_out.push_back(key);
  }
  for (const pthread_key_t other : left_out) next_remove_(other);
  return error;
}

// At rank 0: all other ranks take the number, or none does.
bool ThreadKeys::take_everywhere(pthread_key_t key, Destructor destructor) noexcept {
  for (std::uint32_t rank = 1; rank < runtime_->ranks(); ++rank) {
    if (calls_.at<&ThreadKeys::take_here>(Rank{rank}, key, destructor) == 0) continue;
    while (--rank > 0) calls_.at<&ThreadKeys::remove_here>(Rank{rank}, key);
    return false;
  }
  return true;
}

// The C library assigns the lowest free number.
int ThreadKeys::take_here(pthread_key_t key, Destructor destructor) noexcept {
  std::vector<pthread_key_t> lower;
  pthread_key_t made = 0;
  int error = next_create_(&made, destructor);
  while (error == 0 && made < key) {
    lower.push_back(made);
    error = next_create_(&made, destructor);
  }
  if (error == 0 && made != key) {
    next_remove_(made);
    error = EBUSY;
  }
  for (const pthread_key_t other : lower) next_remove_(other);
  return error;
}

}  // namespace musubi::image
