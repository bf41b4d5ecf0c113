// The registers and the words of the frame at one point of a function.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "stores/value.h"

namespace musubi::stores::x86_64 {

// General registers by the processor's numbers, then vector registers: compilers keep addresses there, too,
// when they have no general register left. A vector register counts by its lowest word.
inline constexpr unsigned rax = 0, rcx = 1, rdx = 2, rsp = 4, rbp = 5, rsi = 6, rdi = 7, first_vector = 16;
inline constexpr unsigned register_count = first_vector + 32, no_register = register_count;
inline constexpr std::array<unsigned, 6> argument_registers{rdi, rsi, rdx, rcx, 8, 9};

// The values of argument registers at a call.
using Arguments = std::array<Value, argument_registers.size()>;

// A bit for each register that a call may change by the ABI: rax rcx rdx rsi rdi r8 ... r11, all vectors.
using RegisterSet = std::uint64_t;
inline constexpr RegisterSet vector_registers = 0xffff'ffffull << first_vector;
inline constexpr RegisterSet changed_by_calls = 0b0000'1111'1100'0111 | vector_registers;

class Frame {
 public:
  static Frame at_entry(const Arguments& arguments);

  const Value& value(unsigned number) const { return registers_[number]; }
  void set(unsigned number, const Value& value);
  // The argument values for a called function, in which this frame is an outer one.
  Arguments arguments() const;

  // A store of `bytes` at `address` in the frame. `value` is the stored word, if it is one word.
  void store(const Value& address, std::size_t bytes, const Value& value);
  Value load(std::int64_t offset) const;

  // An address in the frame escapes: other code may then access the object that begins there.
  void let_out(const Value& address);
  // A store to escaped memory.
  void change_let_out() { forget_slots(let_out_, INT64_MAX); }
  void forget_registers(RegisterSet changed);
  // A call that changes these registers and, with `changes_frame`, escaped memory.
  void call(RegisterSet changed, bool changes_frame, const Value& result);
  // A call that writes words where its arguments point to in the frame, and keeps no address.
  void call_with_results();
  // The registers that the function has changed so far, of those that calls may change.
  RegisterSet changed() const { return changed_; }

  // Keeps only the facts that hold in both frames. Result: whether this frame has lost some.
  bool join(const Frame& other);

 private:
  static constexpr std::size_t slots_max = 24;
  struct Slot {
    std::int64_t offset;
    Value value;
    friend bool operator==(const Slot&, const Slot&) = default;
  };

  void forget_slots(std::int64_t from, std::int64_t to);

  std::array<Value, register_count> registers_;
  RegisterSet changed_ = 0;
  std::vector<Slot> slots_;
  std::int64_t let_out_ = INT64_MAX;  // the lowest escaped offset
};

}  // namespace musubi::stores::x86_64
