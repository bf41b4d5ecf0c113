// Batches of 1 to 9 steps of all verbs, drawn from a seed. Each has a stretch of its peer's region to itself,
// so all results are known before it is posted.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/random.h"
#include "fabric/fabric.h"

namespace musubi::fabric::conformance {

// Exchanges bytes of the region for those after the offset in the arguments. Result: the old bytes. The
// verdict is that of the first old byte.
inline constexpr ProcedureId exchanging{7};
inline constexpr std::size_t exchanged_bytes_max = 600;

inline Verdict verdict_of(std::byte first) {
  return static_cast<Verdict>(1 + static_cast<unsigned>(first) % 2);
}

inline Verdict exchange_bytes(Call& call, const void*) noexcept {
  std::uint64_t offset = 0;
  if (!call.read(offset)) return malformed;
  const std::span<const std::byte> fresh = call.arguments().subspan(sizeof offset);
  std::byte* const place = call.at(RegionId{0}, offset, fresh.size());
  if (place == nullptr || fresh.empty()) return malformed;
  const Verdict verdict = verdict_of(*place);
  call.add(place, fresh.size());
  std::copy(fresh.begin(), fresh.end(), place);
  return verdict;
}

class MixedBatch {
 public:
  static constexpr std::uint64_t steps_max = 9;

  // `offset`: of the stretch in region 0 of the peer, a multiple of 8; its bytes are zeros.
  MixedBatch(std::uint64_t offset, std::size_t bytes) : offset_(offset), stretch_(bytes) {}

  // The next batch. REQUIRES: the last one is complete.
  void draw(Random& random) {
    verdict_ = no_verdict;
    orders_.clear();
    orders_.resize(random.between(1, steps_max));
    steps_.clear();
    for (Order& order : orders_) {
      const Verdict after = random.chance(15) ? static_cast<Verdict>(random.between(1, 2)) : no_verdict;
      const bool is_left_out = after != no_verdict && after != verdict_;
      Step step = draw_step(random, order, is_left_out);
      step.after = after;
      steps_.push_back(step);
    }
  }
  std::span<const Step> steps() const { return steps_; }

  // The number of steps of a completed batch that have not brought the expected result.
  unsigned wrong() const {
    unsigned count = 0;
    for (const Order& order : orders_) count += order.local == order.expected ? 0 : 1;
    return count;
  }
  // Whether the stretch holds the result of the batches.
  bool is_in(const std::byte* region) const {
    return std::equal(stretch_.begin(), stretch_.end(), region + offset_);
  }

 private:
  // Whole words, since they must be aligned.
  using Bytes = std::vector<std::uint64_t>;
  struct Order {
    Bytes local, expected;
    std::vector<std::byte> arguments;
  };
  static constexpr std::uint64_t untouched = 0xeeee'eeee'eeee'eeee;

  static std::byte* bytes_of(Bytes& words) { return reinterpret_cast<std::byte*>(words.data()); }
  static void fill(Random& random, std::byte* to, std::size_t bytes) {
    std::generate_n(to, bytes, [&] { return static_cast<std::byte>(random.next()); });
  }

  std::size_t draw_bytes(Random& random) const {
    constexpr std::array<std::size_t, 4> sizes{16, 300, 2000, SIZE_MAX};
    const std::size_t most =
        std::min(stretch_.size(), sizes[std::min(random.below(10) / 3, std::uint64_t{3})]);
    return random.between(1, most);
  }
  // Takes space for a result of `bytes` bytes after `head` other bytes.
  static void prepare(Order& order, std::size_t head, std::size_t bytes) {
    order.local.assign((head + bytes + 7) / 8, untouched);
    order.expected = order.local;
  }

  Step draw_step(Random& random, Order& order, bool is_left_out) {
    switch (random.below(7)) {
      case 0:
      case 1:
        return draw_get(random, order, is_left_out);
      case 2:
      case 3:
        return draw_put(random, order, is_left_out);
      case 4:
        return draw_call(random, order, is_left_out);
      default:
        return draw_atomic(random, order, is_left_out);
    }
  }
  Step draw_get(Random& random, Order& order, bool is_left_out) {
    const std::size_t bytes = draw_bytes(random), at = random.between(0, stretch_.size() - bytes);
    prepare(order, 0, bytes);
    if (!is_left_out) std::copy_n(&stretch_[at], bytes, bytes_of(order.expected));
    return get(RegionId{0}, offset_ + at, order.local.data(), bytes);
  }
  Step draw_put(Random& random, Order& order, bool is_left_out) {
    const std::size_t bytes = draw_bytes(random), at = random.between(0, stretch_.size() - bytes);
    prepare(order, 0, bytes);
    fill(random, bytes_of(order.local), bytes);
    order.expected = order.local;
    if (!is_left_out) std::copy_n(bytes_of(order.local), bytes, &stretch_[at]);
    return put(RegionId{0}, offset_ + at, order.local.data(), bytes);
  }
  Step draw_call(Random& random, Order& order, bool is_left_out) {
    const std::size_t bytes = std::min(draw_bytes(random), exchanged_bytes_max);
    const std::size_t at = random.between(0, stretch_.size() - bytes);
    const std::uint64_t offset = offset_ + at;
    prepare(order, sizeof(CallEnd), bytes);
    order.arguments.resize(sizeof offset + bytes);
    std::memcpy(order.arguments.data(), &offset, sizeof offset);
    fill(random, order.arguments.data() + sizeof offset, bytes);
    if (!is_left_out) {
      verdict_ = verdict_of(stretch_[at]);
      const CallEnd end{static_cast<std::uint32_t>(bytes), verdict_, {}};
      std::memcpy(order.expected.data(), &end, sizeof end);
      std::copy_n(&stretch_[at], bytes, bytes_of(order.expected) + sizeof end);
      std::copy_n(order.arguments.data() + sizeof offset, bytes, &stretch_[at]);
    }
    return call(exchanging, order.arguments, *reinterpret_cast<CallEnd*>(order.local.data()), bytes);
  }
  Step draw_atomic(Random& random, Order& order, bool is_left_out) {
    const std::size_t at = 8 * random.below(stretch_.size() / 8);
    std::uint64_t old = 0;
    std::memcpy(&old, &stretch_[at], sizeof old);
    prepare(order, 0, sizeof old);
    const std::uint64_t operand = random.next(), compare = random.chance(50) ? old : operand;
    const std::uint64_t offset = offset_ + at;
    std::uint64_t fresh = operand;
    Step step = swap(RegionId{0}, offset, order.local.data(), operand);
    switch (random.below(3)) {
      case 0:
        step = fetch_add(RegionId{0}, offset, order.local.data(), operand);
        fresh = old + operand;
        break;
      case 1:
        step = compare_swap(RegionId{0}, offset, order.local.data(), compare, operand);
        fresh = old == compare ? operand : old;
        break;
      default:
        break;
    }
    if (!is_left_out) {
      order.expected[0] = old;
      std::memcpy(&stretch_[at], &fresh, sizeof fresh);
    }
    return step;
  }

  const std::uint64_t offset_;
  std::vector<std::byte> stretch_;  // the expected bytes at the peer
  Verdict verdict_ = no_verdict;
  std::vector<Order> orders_;
  std::vector<Step> steps_;
};

}  // namespace musubi::fabric::conformance
