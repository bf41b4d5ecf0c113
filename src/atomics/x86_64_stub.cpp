#include "atomics/x86_64_stub.h"

#include <cstring>
#include <initializer_list>
#include <new>

#include "atomics/x86_64_entry.h"
#include "base/check.h"

namespace musubi::atomics::x86_64 {
namespace {

bool fits_32(std::int64_t value) {
  return value == static_cast<std::int32_t>(value);
}

class Writer {
 public:
  explicit Writer(std::uint8_t* at) : begin_(at), at_(at) {}

  std::uint8_t* position() const { return at_; }
  std::size_t written() const { return static_cast<std::size_t>(at_ - begin_); }
  bool ok() const { return ok_; }

  void bytes(std::initializer_list<unsigned> values) {
    for (unsigned value : values) *at_++ = static_cast<std::uint8_t>(value);
  }
  void copy(const void* from, std::size_t count) {
    std::memcpy(at_, from, count);
    at_ += count;
  }
  void word_32(std::int64_t value) {
    if (!fits_32(value)) ok_ = false;
    const auto low = static_cast<std::int32_t>(value);
    copy(&low, sizeof low);
  }
  // The distance from the end of these four bytes, which must end the instruction.
  void distance_to(const void* target) { distance_to(reinterpret_cast<std::uintptr_t>(target)); }
  void distance_to(std::uintptr_t target) {
    word_32(static_cast<std::int64_t>(target - (reinterpret_cast<std::uintptr_t>(at_) + 4)));
  }
  // Leaves room for a distance that is known later.
  std::uint8_t* distance_later() {
    std::uint8_t* place = at_;
    bytes({0, 0, 0, 0});
    return place;
  }
  void skip(std::size_t count) { at_ += count; }
  void align(std::size_t alignment) {
    while (reinterpret_cast<std::uintptr_t>(at_) % alignment != 0) *at_++ = 0xcc;
  }
  static void set_distance(std::uint8_t* place, const std::uint8_t* target) {
    const auto distance = static_cast<std::int32_t>(target - (place + 4));
    std::memcpy(place, &distance, sizeof distance);
  }

 private:
  std::uint8_t* begin_;
  std::uint8_t* at_;
  bool ok_ = true;
};

// Whether the instruction sets CF, OF, SF, ZF and PF without reading any: only then may the test spoil them.
bool overwrites_flags(Mnemonic mnemonic) {
  switch (mnemonic) {
    case Mnemonic::add:
    case Mnemonic::or_:
    case Mnemonic::and_:
    case Mnemonic::sub:
    case Mnemonic::xor_:
    case Mnemonic::neg:
    case Mnemonic::xadd:
    case Mnemonic::cmpxchg:
      return true;
    default:
      return false;
  }
}

bool has_register_bit_offset(const Instruction& instruction) {
  const Mnemonic mnemonic = instruction.mnemonic;
  return (mnemonic == Mnemonic::bts || mnemonic == Mnemonic::btr || mnemonic == Mnemonic::btc) &&
         instruction.source == Source::general_register;
}

class StubWriter {
 public:
  StubWriter(std::uint8_t* at, const StubHeader& header, const Instruction& instruction, std::uintptr_t site)
      : out_(at), header_(header), instruction_(instruction), site_(site) {}

  std::size_t write() {
    step_over_red_zone();
    // Rare forms leave the test of the address to the entry.
    const bool tests = !instruction_.is_fence() && !has_register_bit_offset(instruction_) &&
                       !instruction_.address_is_32_bit && fits_32(displacement_after_pushes());
    std::uint8_t* native = nullptr;
    if (tests) native = write_test();
    std::uint8_t* exits = write_call();
    if (native == nullptr) native = write_native();
    finish_exits(exits, native);
    return out_.ok() ? out_.written() : 0;
  }

 private:
  static constexpr unsigned pushed_bytes = 16;

  void step_over_red_zone() { out_.bytes({0x48, 0x8d, 0x64, 0x24, 0x80}); }  // lea -128(%rsp), %rsp

  // The stack pointer has moved when the address is computed.
  std::int64_t displacement_after_pushes() const {
    return instruction_.displacement + (instruction_.base == rsp ? red_zone_bytes + pushed_bytes : 0);
  }

  void write_address() {  // lea <operand>, %rcx
    if (instruction_.rip_relative) {
      out_.bytes({0x48, 0x8d, 0x0d});
      out_.distance_to(site_ + instruction_.length + static_cast<std::uint64_t>(instruction_.displacement));
      return;
    }
    const bool has_base = instruction_.base != no_register;
    const bool has_index = instruction_.index != no_register;
    const unsigned base = has_base ? instruction_.base : 5;
    const unsigned index = has_index ? instruction_.index : 4;
    const unsigned scale = static_cast<unsigned>(__builtin_ctz(instruction_.scale));
    const unsigned rex = 0x48 | (index >= 8 ? 2 : 0) | (has_base && base >= 8 ? 1 : 0);
    const unsigned mode = has_base ? 0x8c : 0x0c;  // 32-bit displacement either way, rcx, SIB follows
    out_.bytes({rex, 0x8d, mode, scale << 6 | (index & 7) << 3 | (base & 7)});
    out_.word_32(displacement_after_pushes());
  }

  void restore_scratch() {
    if (keeps_flags()) out_.bytes({0x04, 0x7f, 0x9e});  // add $127, %al (sets OF if al is 1); sahf
    out_.bytes({0x59, 0x58});                           // pop %rcx; pop %rax
  }
  bool keeps_flags() const { return !overwrites_flags(instruction_.mnemonic); }

  // Tests the address against the filter: private addresses continue into the native instruction, shared ones
  // fall out after it. Result: the start of the native instruction.
  std::uint8_t* write_test() {
    out_.bytes({0x50, 0x51});  // push %rax; push %rcx
    write_address();
    if (keeps_flags()) out_.bytes({0x9f, 0x0f, 0x90, 0xc0});  // lahf; seto %al
    if (instruction_.segment == SegmentBase::fs) {
      out_.bytes({0x64, 0x48, 0x03, 0x0c, 0x25, 0, 0, 0, 0});  // add %fs:0, %rcx
    }
    std::uint8_t* below[SharedRanges::filter_count_max];
    std::uint8_t* inside[SharedRanges::filter_count_max];
    for (std::size_t i = 0; i < header_.filter_count; ++i) {
      below[i] = write_compare(&header_.filter[i].begin);
      inside[i] = write_compare(&header_.filter[i].end);
    }
    for (std::size_t i = 0; i < header_.filter_count; ++i) Writer::set_distance(below[i], out_.position());
    restore_scratch();
    out_.bytes({0x48, 0x8d, 0xa4, 0x24, red_zone_bytes, 0, 0, 0});  // lea 128(%rsp), %rsp
    std::uint8_t* native = write_native();
    for (std::size_t i = 0; i < header_.filter_count; ++i) Writer::set_distance(inside[i], out_.position());
    restore_scratch();
    return native;
  }

  // cmp <bound>, %rcx; jb <later>
  std::uint8_t* write_compare(const std::uintptr_t* bound) {
    out_.bytes({0x48, 0x3b, 0x0d});
    out_.distance_to(bound);
    out_.bytes({0x0f, 0x82});
    return out_.distance_later();
  }

  // The original instruction and the way back.
  std::uint8_t* write_native() {
    std::uint8_t* start = out_.position();
    const auto* original = reinterpret_cast<const std::uint8_t*>(site_);
    if (instruction_.rip_relative) {
      const std::uint64_t target = site_ + static_cast<std::uint64_t>(instruction_.displacement);
      const unsigned behind = instruction_.displacement_at + 4u;
      out_.copy(original, instruction_.displacement_at);
      out_.word_32(static_cast<std::int64_t>(target - reinterpret_cast<std::uintptr_t>(start)));
      out_.copy(original + behind, instruction_.length - behind);
    } else {
      out_.copy(original, instruction_.length);
    }
    write_jump_back();
    return start;
  }

  void write_jump_back() {
    out_.bytes({0xe9});
    out_.distance_to(site_ + instruction_.length);
  }

  // call *entry; the two exits; the record. Result: the exits.
  std::uint8_t* write_call() {
    out_.bytes({0xff, 0x15});
    out_.distance_to(&header_.entry);
    std::uint8_t* exits = out_.position();
    for (int i = 0; i < 2; ++i) {
      out_.bytes({0x48, 0x8d, 0xa4, 0x24, red_zone_bytes, 0, 0, 0, 0xe9});  // lea 128(%rsp), %rsp; jmp ...
      out_.bytes({0, 0, 0, 0});
    }
    MUSUBI_CHECK(out_.position() == exits + 2 * exit_bytes);
    out_.align(alignof(StubRecord));
    new (out_.position()) StubRecord{instruction_, site_ + instruction_.length};
    out_.skip(sizeof(StubRecord));
    return exits;
  }

  void finish_exits(std::uint8_t* exits, const std::uint8_t* native) {
    Writer::set_distance(exits + exit_bytes - 4, native);
    const auto behind = reinterpret_cast<const std::uint8_t*>(site_ + instruction_.length);
    Writer::set_distance(exits + 2 * exit_bytes - 4, behind);
  }

  Writer out_;
  const StubHeader& header_;
  const Instruction& instruction_;
  std::uintptr_t site_;
};

}  // namespace

std::size_t write_stub(std::uint8_t* at, const StubHeader& header, const Instruction& instruction,
                       std::uintptr_t site) {
  const std::size_t bytes = StubWriter(at, header, instruction, site).write();
  MUSUBI_CHECK(bytes <= stub_bytes_max);
  return bytes;
}

}  // namespace musubi::atomics::x86_64
