// Places between two steps of the protocol where other threads of the rank, and other ranks, may act. In a
// job that is everywhere. The simulator does one thing at a time, so the protocol names the places that
// matter.
#pragma once

#include <cstddef>

namespace musubi {

class Interruption {
 public:
  // Others act now, or do not. The caller holds no spin lock.
  virtual void pass() noexcept = 0;
  // As pass(), where the protocol is about to look at something that others may change, or to change it.
  // There are so many of these places that few of them may take time.
  virtual void touch() noexcept = 0;
  // How many of the next `bytes` bytes are copied or compared before others act. Result: at least 1.
  virtual std::size_t stretch(std::size_t bytes) noexcept = 0;
  // These bytes are guesses, which may be wrong: changes them, or does not.
  virtual void spoil(std::byte* /*guesses*/, std::size_t /*bytes*/) noexcept {}

 protected:
  ~Interruption() = default;
};

// Is told when an atomic operation takes effect that another rank carries out, while nobody else can change
// the bytes.
class Witness {
 public:
  virtual void took_effect(const void* old, const void* next) noexcept = 0;

 protected:
  ~Witness() = default;
};

}  // namespace musubi
