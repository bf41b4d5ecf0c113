// Where an address leads, as far as code tells it before it runs: from which root, how far, and in which
// steps.
#pragma once

#include <cstdint>

namespace musubi::stores {

// What an address was made from. The roots from `first_found` on are listed in Roots.
enum class Root : std::uint16_t {
  number,    // none: a number, or an address of which nothing is known
  frame,     // the function's own frame: where rsp was at its entry
  outer,     // a frame of a function that has called this one
  storage,   // the thread's own, beyond its frames
  fresh,     // memory that the region itself has allocated
  argument,  // the argument record of the region
  first_found
};

// root + offset + k * stride, for some whole number k. A stride of 0 means: exactly there.
struct Value {
  Root root = Root::number;
  // k may be negative: made by a negation, or of an address in the frame that was lowered.
  bool backward = false;
  std::uint32_t stride = 1;
  std::int64_t offset = 0;

  static Value exactly(Root root, std::int64_t offset) { return {root, false, 0, offset}; }
  bool is_exact() const { return stride == 0; }
  bool is_anything() const { return root == Root::number && stride == 1; }
  friend bool operator==(const Value&, const Value&) = default;
};

// A value that is one of both.
Value joined(const Value& a, const Value& b);
Value sum(const Value& a, const Value& b);
// Of two addresses only where their root is one place for sure.
Value difference(const Value& a, const Value& b);
Value negated(const Value& value);
Value product(const Value& value, std::int64_t factor);
// The same in steps of `stride` as well.
Value spread(const Value& value, std::uint32_t stride);
// What an operation on 32 bits leaves of its result, extended by zeros or by the sign.
Value cut_to_32_bits(const Value& value, bool by_sign);

}  // namespace musubi::stores
