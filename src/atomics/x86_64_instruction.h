// An x86-64 atomic instruction, decoded from its bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/atomic_operation.h"

namespace musubi::atomics::x86_64 {

// The lengths of common instructions, by tables: most of a program's code, at a fraction of the cost of
// decoding.

// The length of the instruction at `code`, if the tables know it and it is neither atomic, nor a fence, nor a
// no-operation of several bytes; else 0, and the caller must decode it. Reads no byte beyond the instruction.
std::size_t common_length(const void* code, std::size_t available) noexcept;
// The length of any instruction; 0: the bytes are none. Reads no byte beyond the instruction.
std::size_t length(const void* code, std::size_t available) noexcept;

// Named after the mnemonics.
enum class Mnemonic : std::uint8_t {
  add,
  or_,
  adc,
  sbb,
  and_,
  sub,
  xor_,
  inc,
  dec,
  not_,
  neg,
  xadd,
  xchg,
  cmpxchg,
  bts,
  btr,
  btc,
  cmpxchg_pair,  // cmpxchg8b, cmpxchg16b
  mfence,
};

enum class Source : std::uint8_t { none, immediate, general_register };
enum class SegmentBase : std::uint8_t { none, fs };

inline constexpr std::uint8_t no_register = 0xff;
inline constexpr unsigned instruction_bytes_max = 15;

// Registers have the processor's numbers: rax rcx rdx rbx rsp rbp rsi rdi r8 ... r15.
enum Register : std::uint8_t { rax = 0, rcx = 1, rdx = 2, rbx = 3, rsp = 4 };

struct Instruction {
  Mnemonic mnemonic{};
  std::uint8_t length = 0;       // of the instruction
  std::uint8_t bytes = 0;        // width of the memory operand
  Source source = Source::none;  // the operand that is not memory
  AtomicOrder order = AtomicOrder::unused;
  std::uint8_t source_register = no_register;
  bool source_is_high_byte = false;  // ah, ch, dh, bh
  std::int64_t immediate = 0;        // sign-extended; only its low `bytes` bytes are used
  // The address: segment + base + index * scale + displacement, or next instruction + displacement.
  SegmentBase segment = SegmentBase::none;
  bool rip_relative = false;
  bool address_is_32_bit = false;  // prefix 67: the sum is cut to 32 bits before the segment's base is added
  std::uint8_t base = no_register;
  std::uint8_t index = no_register;
  std::uint8_t scale = 1;
  std::uint8_t displacement_at = 0;  // byte offset of the displacement in the instruction; for rip_relative
  std::int64_t displacement = 0;

  // mfence, or a locked operation that does not change a word of the stack: the full fence of compilers.
  bool is_fence() const;
};

// Decodes one instruction. Result: nothing unless it is a fence or an indivisible read-modify-write of memory
// that can be emulated (not: gs segment; a result in rsp). Signal-safe; reads no byte beyond the instruction.
std::optional<Instruction> decode(const void* code, std::size_t available) noexcept;

// A cheap first test: false means that decode would find no read-modify-write. Reads no byte beyond the
// opcode.
bool may_be_atomic(const void* code) noexcept;

// A linear walk over machine code.
struct Sweep {
  std::size_t instructions = 0;
  std::size_t unsupported = 0;  // atomic, but of a form that cannot be emulated
};

// The starts of a walk's last instructions.
class Recent {
 public:
  static constexpr std::size_t kept = 64;

  void add(std::size_t at) { starts_[count_++ % kept] = at; }
  std::size_t count() const { return count_ < kept ? count_ : kept; }
  // The one before the last `back` ones. REQUIRES: back < count().
  std::size_t before(std::size_t back) const { return starts_[(count_ - 1 - back) % kept]; }

 private:
  std::array<std::size_t, kept> starts_{};
  std::size_t count_ = 0;
};

// The events of the walk, each with its offset, ascending.
struct SweepEvents {
  std::function<void(std::size_t, const Instruction&, const Recent& before)> atomic;
  std::function<void(std::size_t, std::size_t)> padding;  // a no-operation of several bytes, with its length
  // One byte that is not code, most likely data. The walk continues at the next byte.
  std::function<void(std::size_t)> undecodable;
};

// Accepts any bytes.
Sweep sweep(const void* code, std::size_t bytes, const SweepEvents& events);

}  // namespace musubi::atomics::x86_64
