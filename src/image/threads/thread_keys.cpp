#include "image/threads/thread_keys.h"

#include <cerrno>
#include <cstring>
#include <vector>

#include "image/process/real_function.h"
#include "image/process/remote_procedures.h"

namespace musubi::image {

void ThreadKeys::start(runtime::Runtime& runtime) {
  runtime_ = &runtime;
  next_create_ = reinterpret_cast<decltype(next_create_)>(next_definition("pthread_key_create"));
  next_remove_ = reinterpret_cast<decltype(next_remove_)>(next_definition("pthread_key_delete"));
  if (runtime.ranks() > 1) runtime.remote_calls().serve(procedures::thread_keys, *this);
}

// Rank 0 chooses for all ranks, so that two ranks that create keys at the same time do not collide.
int ThreadKeys::create(pthread_key_t* key, Destructor destructor) noexcept {
  pthread_key_t made = 0;
  const Message message{Request::create, 0, destructor};
  const int error =
      static_cast<int>(runtime_->remote_calls()
                           .call(Rank{0}, procedures::thread_keys, std::as_bytes(std::span(&message, 1)),
                                 std::as_writable_bytes(std::span(&made, 1)))
                           .status);
  if (error == 0) *key = made;
  return error;
}

int ThreadKeys::remove(pthread_key_t key) noexcept {
  return remove_everywhere(key);
}

// At rank 0. Skips a number that another rank uses for a private key.
int ThreadKeys::create_everywhere(pthread_key_t& key, Destructor destructor) noexcept {
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
  const auto ask = [&](std::uint32_t rank, Request request) {
    const Message message{request, key, destructor};
    return runtime_->remote_calls()
               .call(Rank{rank}, procedures::thread_keys, std::as_bytes(std::span(&message, 1)), {})
               .status == 0;
  };
  for (std::uint32_t rank = 1; rank < runtime_->ranks(); ++rank) {
    if (ask(rank, Request::take)) continue;
    while (--rank > 0) ask(rank, Request::remove);
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

int ThreadKeys::remove_everywhere(pthread_key_t key) noexcept {
  const int error = next_remove_(key);
  const Message message{Request::remove, key, nullptr};
  if (error == 0) {
    runtime_->remote_calls().call_others(procedures::thread_keys, std::as_bytes(std::span(&message, 1)));
  }
  return error;
}

runtime::Answer ThreadKeys::run(Rank, std::span<const std::byte> request,
                                std::span<std::byte> reply) noexcept {
  Message message;
  MUSUBI_CHECK(request.size() == sizeof message);
  std::memcpy(&message, request.data(), sizeof message);
  switch (message.request) {
    case Request::create: {
      pthread_key_t key = 0;
      const int error = create_everywhere(key, message.destructor);
      std::memcpy(reply.data(), &key, sizeof key);
      return {error, sizeof key};
    }
    case Request::take:
      return {take_here(message.key, message.destructor), 0};
    case Request::remove:
      return {next_remove_(message.key), 0};
  }
  __builtin_unreachable();
}

}  // namespace musubi::image
