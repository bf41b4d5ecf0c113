#include "stores/value.h"

#include <numeric>

namespace musubi::stores {
namespace {

std::int64_t added(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

std::uint64_t magnitude(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  return value < 0 ? 0 - bits : bits;
}

// A multiple of `stride` is also a multiple of every divisor of it.
std::uint32_t bounded(std::uint64_t stride) {
  constexpr std::uint64_t most = std::uint64_t{1} << 31, step = 4096;
  return static_cast<std::uint32_t>(stride < most ? stride : std::gcd(stride, step));
}

std::int64_t remainder(std::int64_t offset, std::uint32_t stride) {
  const std::int64_t rest = offset % static_cast<std::int64_t>(stride);
  return rest < 0 ? rest + stride : rest;
}

// For a number only the remainder matters.
Value made(Root root, bool backward, std::uint64_t stride, std::int64_t offset) {
  Value value{root, backward, bounded(stride), offset};
  if (root == Root::number && value.stride != 0) value.offset = remainder(offset, value.stride);
  return value;
}

std::uint64_t power_of_two_in(std::uint64_t stride) {
  return stride & (0 - stride);
}

}  // namespace

Value joined(const Value& a, const Value& b) {
  if (a == b) return a;
  if (a.root != b.root) return {};
  const std::uint64_t apart =
      magnitude(added(a.offset, static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(b.offset))));
  // For a frame, keep the lower of the two addresses: only memory above it is tracked. A value with a stride
  // whose offset decreases again moves downwards in a loop.
  const bool is_lower = a.root == Root::frame && b.offset < a.offset;
  return made(a.root, a.backward || b.backward || (is_lower && !a.is_exact()),
              std::gcd(std::gcd(a.stride, b.stride), apart), is_lower && a.is_exact() ? b.offset : a.offset);
}

Value sum(const Value& a, const Value& b) {
  if (a.root != Root::number && b.root != Root::number) return {};
  return made(a.root != Root::number ? a.root : b.root, a.backward || b.backward,
              std::gcd(std::uint64_t{a.stride}, std::uint64_t{b.stride}), added(a.offset, b.offset));
}

Value negated(const Value& value) {
  if (value.root != Root::number) return {};
  return made(Root::number, value.backward || !value.is_exact(), value.stride,
              static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(value.offset)));
}

// Differences between numbers may be remainders, too: only a subtraction from a constant counts as a
// negation.
Value difference(const Value& a, const Value& b) {
  if (b.root == Root::number) {
    Value result = sum(a, negated(b));
    result.backward = a.backward || b.backward || (result.backward && a.root == Root::number && a.is_exact());
    return result;
  }
  // A word may have been loaded before and after it changed.
  if (a.root != b.root || (a.root != Root::frame && a.root != Root::argument)) return {};
  const auto apart =
      static_cast<std::int64_t>(static_cast<std::uint64_t>(a.offset) - static_cast<std::uint64_t>(b.offset));
  return made(Root::number, false, std::gcd(a.stride, b.stride), apart);
}

Value product(const Value& value, std::int64_t factor) {
  if (factor == 1) return value;
  if (value.root != Root::number) return {};
  const auto offset = static_cast<std::int64_t>(static_cast<std::uint64_t>(value.offset) *
                                                static_cast<std::uint64_t>(factor));
  if (factor == 0) return Value::exactly(Root::number, 0);
  std::uint64_t stride = 0;
  if (__builtin_mul_overflow(std::uint64_t{value.stride}, magnitude(factor), &stride)) return {};
  return made(Root::number, value.backward || factor < 0, stride, offset);
}

Value spread(const Value& value, std::uint32_t stride) {
  return made(value.root, value.backward, std::gcd(value.stride, stride), value.offset);
}

// Sums wrap at 2^32: only powers of two still divide them.
Value cut_to_32_bits(const Value& value, bool by_sign) {
  if (value.root != Root::number) return {};
  if (!value.is_exact())
    return made(Root::number, value.backward, power_of_two_in(value.stride), value.offset);
  const auto low = static_cast<std::uint32_t>(value.offset);
  return Value::exactly(Root::number, by_sign ? static_cast<std::int32_t>(low) : std::int64_t{low});
}

}  // namespace musubi::stores
