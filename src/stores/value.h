// An abstract value of an address, derived from code before it runs: its root, offset and stride.
#pragma once

#include <cstdint>

namespace musubi::stores {

// The origin of an address. Roots lists the roots from `first_found` on.
enum class Root : std::uint16_t {
  number,    // none: a number, or an unknown address
  frame,     // the function's own frame: rsp at its entry
  outer,     // a frame of a function that has called this one
  storage,   // thread-local, outside of the frames
  fresh,     // memory that the region itself has allocated
  argument,  // the argument record of the region
  first_found
};

// root + offset + k * stride, for some integer k. A stride of 0 means exactly root + offset.
struct Value {
  Root root = Root::number;
  // k may be negative: after a negation, or for an address in the frame that was lowered.
  bool backward = false;
  std::uint32_t stride = 1;
  std::int64_t offset = 0;

  static Value exactly(Root root, std::int64_t offset) { return {root, false, 0, offset}; }
  bool is_exact() const { return stride == 0; }
  bool is_anything() const { return root == Root::number && stride == 1; }
  friend bool operator==(const Value&, const Value&) = default;
};

// A value that covers both.
Value joined(const Value& a, const Value& b);
Value sum(const Value& a, const Value& b);
// For two addresses only if their root is certainly one place.
Value difference(const Value& a, const Value& b);
Value negated(const Value& value);
Value product(const Value& value, std::int64_t factor);
// The same with an additional stride.
Value spread(const Value& value, std::uint32_t stride);
// The result of an operation on 32 bits, extended by zeros or by the sign.
Value cut_to_32_bits(const Value& value, bool by_sign);

}  // namespace musubi::stores
