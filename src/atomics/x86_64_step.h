// One instruction of finished code, as far as it matters for what the code stores and where it goes on.
#pragma once

#include <Zydis/Zydis.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "atomics/x86_64_frame.h"

namespace musubi::atomics::x86_64 {

class Step {
 public:
  enum class Goes : std::uint8_t {
    on,
    to_target,  // always
    to_either,  // to the target or on
    into_call,  // of the target
    to_slot,    // where the word at the target leads
    into_slot,  // the same as a call
    back,       // returns
    nowhere,    // ends the process
    anywhere,   // not known, or into the kernel
  };
  // A store outside of the stack.
  struct Store {
    std::uintptr_t address = 0;  // 0: not known
    std::size_t bytes = 0;       // of one value: 1 to 8; where the address is known, of all
  };

  Step() noexcept;
  // Decodes the instruction `code` that stands at `address`. Result: false when it is none.
  bool decode(const void* code, std::size_t available, std::uintptr_t address) noexcept;

  std::uintptr_t next() const noexcept { return next_; }
  Goes goes() const noexcept;
  std::uintptr_t target() const noexcept;  // 0: none
  // The stores, with what held before the instruction; at most one of them can be outside of the stack.
  std::optional<Store> store(const Frame& frame) const noexcept;
  // An address that the instruction names as a value, 0: none.
  std::uintptr_t named_address() const noexcept;
  // What holds behind the instruction.
  void carry_out(Frame& frame) const noexcept;

 private:
  const ZydisDecodedOperand& operand(std::size_t i) const noexcept { return operands_[i]; }
  bool is_atomic() const noexcept;
  bool is_trap() const noexcept;
  bool may_join_ints() const noexcept;
  std::size_t value_bytes(const ZydisDecodedOperand& operand) const noexcept;
  std::optional<Store> store_by(const ZydisDecodedOperand& operand, const Frame& frame) const noexcept;
  bool carry_out_move(Frame& frame) const noexcept;
  bool carry_out_sum(Frame& frame) const noexcept;
  bool carry_out_stack(Frame& frame) const noexcept;

  ZydisDecoder decoder_;
  ZydisDecodedInstruction decoded_;
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands_;
  std::uintptr_t next_ = 0;
};

}  // namespace musubi::atomics::x86_64
