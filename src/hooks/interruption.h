// Points between two steps of the protocol where other threads of the rank, and other ranks, may act. In a
// real job they may act anywhere. The simulator does one thing at a time, so the protocol names the points
// that matter.
#pragma once

#include <cstddef>

namespace musubi {

class Interruption {
 public:
  // Other threads and ranks may act. The caller holds no spin lock.
  virtual void pass() noexcept = 0;
  // As pass(), where the protocol is about to read or change something that other threads or ranks change.
  // These points are so frequent that few of them may take time.
  virtual void touch() noexcept = 0;
  // How many of the next `bytes` bytes are copied or compared before other threads and ranks act. Result: at
  // least 1.
  virtual std::size_t stretch(std::size_t bytes) noexcept = 0;
  // These bytes are guesses, which may be wrong: changes them, or does not.
  virtual void spoil(std::byte* /*guesses*/, std::size_t /*bytes*/) noexcept {}

 protected:
  ~Interruption() = default;
};

// Is told when another rank carries out an atomic operation, at the moment of its effect, while no other
// thread can change the bytes.
class Witness {
 public:
  virtual void took_effect(const void* old, const void* next) noexcept = 0;

 protected:
  ~Witness() = default;
};

}  // namespace musubi
