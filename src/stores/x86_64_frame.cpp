#include "stores/x86_64_frame.h"

#include <algorithm>

namespace musubi::stores::x86_64 {
namespace {

constexpr std::int64_t word_bytes = 8;
// Below each slot.
constexpr std::int64_t lowest = INT64_MIN / 4;

std::int64_t lowest_of(const Value& address) {
  return address.backward ? lowest : address.offset;
}

}  // namespace

Frame Frame::at_entry(const Arguments& arguments) {
  Frame frame;
  frame.registers_[rsp] = Value::exactly(Root::frame, 0);
  for (std::size_t i = 0; i < arguments.size(); ++i) frame.registers_[argument_registers[i]] = arguments[i];
  return frame;
}

// rsp always points to the stack, however it was computed.
void Frame::set(unsigned number, const Value& value) {
  const bool is_lost = number == rsp && value.root != Root::frame;
  registers_[number] = is_lost ? Value{Root::frame, false, 1, lowest} : value;
  changed_ |= changed_by_calls & (RegisterSet{1} << number);
}

Arguments Frame::arguments() const {
  Arguments result;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const Value& value = registers_[argument_registers[i]];
    result[i] = value.root == Root::frame ? Value{Root::outer, false, 1, 0} : value;
  }
  return result;
}

void Frame::forget_slots(std::int64_t from, std::int64_t to) {
  std::erase_if(slots_,
                [=](const Slot& slot) { return slot.offset + word_bytes > from && slot.offset < to; });
}

// An index stays inside its array, which begins at the address without the index.
void Frame::store(const Value& address, std::size_t bytes, const Value& value) {
  if (!address.is_exact()) return forget_slots(lowest_of(address), INT64_MAX);
  forget_slots(address.offset, address.offset + static_cast<std::int64_t>(bytes));
  if (bytes == word_bytes && !value.is_anything() && slots_.size() < slots_max)
    slots_.push_back({address.offset, value});
}

Value Frame::load(std::int64_t offset) const {
  const auto found = std::ranges::find(slots_, offset, &Slot::offset);
  return found == slots_.end() ? Value{} : found->value;
}

void Frame::let_out(const Value& address) {
  if (address.root == Root::frame) let_out_ = std::min(let_out_, lowest_of(address));
}

void Frame::call(RegisterSet changed, bool changes_frame, const Value& result) {
  for (const unsigned number : argument_registers) let_out(registers_[number]);
  if (changes_frame) change_let_out();
  forget_registers(changed);
  set(rax, result);
}

// The seventh argument is on top of the stack.
void Frame::call_with_results() {
  const auto forget_word = [this](const Value& address) {
    if (address.root == Root::frame) store(address, word_bytes, {});
  };
  for (const unsigned number : argument_registers) forget_word(registers_[number]);
  if (const Value& top = registers_[rsp]; top.is_exact()) forget_word(load(top.offset));
  forget_registers(changed_by_calls);
}

void Frame::forget_registers(RegisterSet changed) {
  for (unsigned number = 0; number < registers_.size(); ++number) {
    if ((changed >> number & 1) != 0) set(number, {});
  }
}

bool Frame::join(const Frame& other) {
  bool less = other.let_out_ < let_out_ || (other.changed_ & ~changed_) != 0;
  let_out_ = std::min(let_out_, other.let_out_);
  changed_ |= other.changed_;
  const auto join_value = [&less](Value& here, const Value& there) {
    const Value both = joined(here, there);
    less = less || both != here;
    here = both;
  };
  for (unsigned number = 0; number < registers_.size(); ++number)
    join_value(registers_[number], other.registers_[number]);
  for (Slot& slot : slots_) join_value(slot.value, other.load(slot.offset));
  less = std::erase_if(slots_, [](const Slot& slot) { return slot.value.is_anything(); }) != 0 || less;
  return less;
}

}  // namespace musubi::stores::x86_64
