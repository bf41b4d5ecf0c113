// One instruction of finished code: its stores and its successors.
#pragma once

#include <Zydis/Zydis.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "stores/roots.h"
#include "stores/store_bounds.h"
#include "stores/x86_64_frame.h"

namespace musubi::stores::x86_64 {

class Step {
 public:
  enum class Goes : std::uint8_t {
    on,
    to_target,  // always
    to_either,  // to the target or on
    into_call,  // of the target
    to_slot,    // to the address in the word at the target
    into_slot,  // the same as a call
    back,       // returns
    nowhere,    // ends the process
    anywhere,   // unknown, or into the kernel
  };

  Step() noexcept;
  // Decodes the instruction `code`, located at `address`. Result: false if it is invalid.
  bool decode(const void* code, std::size_t available, std::uintptr_t address) noexcept;

  std::uintptr_t next() const noexcept { return next_; }
  Goes goes() const noexcept;
  std::uintptr_t target() const noexcept;  // 0: none
  // The store outside of this frame, by the state before the instruction; there is at most one.
  std::optional<Site> store(const Frame& frame, Places& places) const;
  // An address that the instruction names as a value, 0: none.
  std::uintptr_t named_address() const noexcept;
  // Updates the frame to the state after the instruction.
  void carry_out(Frame& frame, Places& places) const;

 private:
  const ZydisDecodedOperand& operand(std::size_t i) const noexcept { return operands_[i]; }
  bool is_atomic() const noexcept;
  bool is_trap() const noexcept;
  bool is_of_one_register() const noexcept;  // both operands
  std::uint32_t element_bytes(const ZydisDecodedOperand& operand) const noexcept;
  Value address_of(const ZydisDecodedOperandMem& memory, const Frame& frame, Places& places) const;
  Value read(const ZydisDecodedOperand& operand, const Frame& frame, Places& places) const;
  std::optional<Value> result(const Frame& frame, Places& places) const;
  std::optional<Value> result_of_sum(const Frame& frame, Places& places) const;
  std::optional<Value> vector_result(const Frame& frame, Places& places) const;
  void combine_vectors(Frame& frame) const;
  void write(const ZydisDecodedOperand& operand, const Value& value, Frame& frame, Places& places) const;
  bool carry_out_stack(Frame& frame, Places& places) const;

  ZydisDecoder decoder_;
  ZydisDecodedInstruction decoded_;
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands_;
  std::uintptr_t next_ = 0;
};

}  // namespace musubi::stores::x86_64
