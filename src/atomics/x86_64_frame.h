// Which registers and words of the frame lead to the stack, at one place of a function.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "atomics/x86_64_instruction.h"

namespace musubi::atomics::x86_64 {

// Zeros mean that nothing is known.
class Frame {
 public:
  enum class Holds : std::uint8_t {
    anything,
    argument,         // an address in what the function's first argument points to
    frame,            // an address in the frame, at a known offset
    frame_somewhere,  // an address in the frame
  };
  struct Value {
    Holds holds;
    std::int64_t offset;  // of `frame`: from where rsp was at the function's entry
    friend bool operator==(const Value&, const Value&) = default;
  };

  // At the entry of a function; `with_argument`: what the first argument points to lies on a stack.
  static Frame at_entry(bool with_argument) noexcept;

  const Value& value(unsigned number) const { return registers_[number]; }
  // rsp always leads to the stack.
  void set(unsigned number, Value value) noexcept;
  void add(unsigned number, std::int64_t bytes) noexcept;
  // The address `bytes` behind a value.
  static Value moved(Value value, std::int64_t bytes) noexcept;

  // A store of `bytes` at a known offset; `value` is what it writes, where that is one whole register.
  void store(std::int64_t offset, std::size_t bytes, Value value) noexcept;
  Value load(std::int64_t offset) const noexcept;

  // A call may change all registers but those that the ABI keeps.
  void call() noexcept;
  // What holds here and there. Result: whether that is less than what held here.
  bool join(const Frame& other) noexcept;

 private:
  // Words that hold an address in the argument.
  static constexpr std::size_t slots_max = 6;

  std::array<Value, 16> registers_;
  std::array<std::int64_t, slots_max> slots_;
  std::size_t slot_count_;
};

}  // namespace musubi::atomics::x86_64
