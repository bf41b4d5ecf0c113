#include "atomics/x86_64_frame.h"

#include <algorithm>

namespace musubi::atomics::x86_64 {
namespace {

constexpr std::int64_t word_bytes = 8;
constexpr unsigned rdi = 7;

bool is_of_frame(const Frame::Value& value) {
  return value.holds == Frame::Holds::frame || value.holds == Frame::Holds::frame_somewhere;
}

Frame::Value joined(const Frame::Value& a, const Frame::Value& b) {
  if (a == b) return a;
  return is_of_frame(a) && is_of_frame(b) ? Frame::Value{Frame::Holds::frame_somewhere, 0} : Frame::Value{};
}

}  // namespace

Frame Frame::at_entry(bool with_argument) noexcept {
  Frame frame{};
  frame.registers_[rsp] = {Holds::frame, 0};
  if (with_argument) frame.registers_[rdi] = {Holds::argument, 0};
  return frame;
}

void Frame::set(unsigned number, Value value) noexcept {
  registers_[number] = number == rsp && !is_of_frame(value) ? Value{Holds::frame_somewhere, 0} : value;
}

Frame::Value Frame::moved(Value value, std::int64_t bytes) noexcept {
  if (value.holds == Holds::frame) value.offset += bytes;
  return value;
}

void Frame::add(unsigned number, std::int64_t bytes) noexcept {
  registers_[number] = moved(registers_[number], bytes);
}

void Frame::store(std::int64_t offset, std::size_t bytes, Value value) noexcept {
  for (std::size_t i = 0; i < slot_count_;) {
    const bool apart =
        slots_[i] + word_bytes <= offset || offset + static_cast<std::int64_t>(bytes) <= slots_[i];
    if (apart) {
      ++i;
    } else {
      slots_[i] = slots_[--slot_count_];
    }
  }
  const bool kept = value.holds == Holds::argument && bytes == word_bytes;
  if (kept && slot_count_ < slots_max) slots_[slot_count_++] = offset;
}

Frame::Value Frame::load(std::int64_t offset) const noexcept {
  const auto end = slots_.begin() + static_cast<std::ptrdiff_t>(slot_count_);
  return std::find(slots_.begin(), end, offset) != end ? Value{Holds::argument, 0} : Value{};
}

void Frame::call() noexcept {
  constexpr unsigned changed = 0b0000'1111'1100'0111;  // rax rcx rdx rsi rdi r8 ... r11
  for (unsigned number = 0; number < registers_.size(); ++number) {
    if ((changed >> number & 1) != 0) registers_[number] = {};
  }
}

bool Frame::join(const Frame& other) noexcept {
  bool less = false;
  for (unsigned number = 0; number < registers_.size(); ++number) {
    const Value both = joined(registers_[number], other.registers_[number]);
    less = less || both != registers_[number];
    registers_[number] = both;
  }
  for (std::size_t i = 0; i < slot_count_;) {
    if (other.load(slots_[i]).holds == Holds::argument) {
      ++i;
    } else {
      slots_[i] = slots_[--slot_count_];
      less = true;
    }
  }
  return less;
}

}  // namespace musubi::atomics::x86_64
