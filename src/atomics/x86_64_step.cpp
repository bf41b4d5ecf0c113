#include "atomics/x86_64_step.h"

#include <algorithm>
#include <bit>

namespace musubi::atomics::x86_64 {
namespace {

constexpr unsigned rbp = 5;
constexpr std::size_t word_bytes = 8;
constexpr std::size_t int_bytes = 4;

bool is_general(const ZydisDecodedOperand& operand) {
  return operand.type == ZYDIS_OPERAND_TYPE_REGISTER &&
         ZydisRegisterGetClass(operand.reg.value) == ZYDIS_REGCLASS_GPR64;
}

bool is_vector(ZydisRegister name) {
  switch (ZydisRegisterGetClass(name)) {
    case ZYDIS_REGCLASS_MMX:
    case ZYDIS_REGCLASS_XMM:
    case ZYDIS_REGCLASS_YMM:
    case ZYDIS_REGCLASS_ZMM:
      return true;
    default:
      return false;
  }
}

// The processor's number of the general register that `name` is a part of; 16: it is of none.
unsigned number_of(ZydisRegister name) {
  const ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name);
  if (ZydisRegisterGetClass(whole) != ZYDIS_REGCLASS_GPR64) return 16;
  return static_cast<unsigned>(ZydisRegisterGetId(whole));
}

bool has_index(const ZydisDecodedOperandMem& memory) {
  return memory.index != ZYDIS_REGISTER_NONE;
}

std::int64_t displacement(const ZydisDecodedOperandMem& memory) {
  return memory.disp.has_displacement ? memory.disp.value : 0;
}

// What `memory` leads to as an address.
Frame::Value address_in(const ZydisDecodedOperandMem& memory, const Frame& frame) {
  const unsigned base = number_of(memory.base);
  if (base > 15) return {};
  const Frame::Value value = frame.value(base);
  if (!has_index(memory)) return Frame::moved(value, displacement(memory));
  const bool of_frame = value.holds == Frame::Holds::frame || value.holds == Frame::Holds::frame_somewhere;
  return of_frame ? Frame::Value{Frame::Holds::frame_somewhere, 0} : Frame::Value{};
}

bool is_threads_own(const ZydisDecodedOperandMem& memory) {
  return memory.segment == ZYDIS_REGISTER_FS || memory.segment == ZYDIS_REGISTER_GS;
}

std::size_t alignment_of(std::int64_t value) {
  return value == 0 ? word_bytes
                    : std::min<std::size_t>(
                          word_bytes, std::size_t{1} << std::countr_zero(static_cast<std::uint64_t>(value)));
}

bool writes(const ZydisDecodedOperand& operand) {
  return (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
}

}  // namespace

Step::Step() noexcept {
  ZydisDecoderInit(&decoder_, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
}

bool Step::decode(const void* code, std::size_t available, std::uintptr_t address) noexcept {
  ZydisDecoderContext context;
  const bool valid =
      ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder_, &context, code, available, &decoded_)) &&
      ZYAN_SUCCESS(ZydisDecoderDecodeOperands(&decoder_, &context, &decoded_, operands_.data(),
                                              decoded_.operand_count));
  if (valid) next_ = address + decoded_.length;
  return valid;
}

Step::Goes Step::goes() const noexcept {
  const bool by_number = decoded_.operand_count != 0 && operand(0).type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
  const bool by_slot = decoded_.operand_count != 0 && operand(0).type == ZYDIS_OPERAND_TYPE_MEMORY &&
                       operand(0).mem.base == ZYDIS_REGISTER_RIP && !has_index(operand(0).mem);
  switch (decoded_.meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
      return decoded_.mnemonic == ZYDIS_MNEMONIC_XBEGIN ? Goes::anywhere : Goes::to_either;
    case ZYDIS_CATEGORY_UNCOND_BR:
      return by_number ? Goes::to_target : by_slot ? Goes::to_slot : Goes::anywhere;
    case ZYDIS_CATEGORY_CALL:
      return by_number ? Goes::into_call : by_slot ? Goes::into_slot : Goes::anywhere;
    case ZYDIS_CATEGORY_RET:
      return Goes::back;
    case ZYDIS_CATEGORY_INTERRUPT:
    case ZYDIS_CATEGORY_SYSCALL:
    case ZYDIS_CATEGORY_SYSRET:
    case ZYDIS_CATEGORY_SYSTEM:
      break;
    default:
      return is_trap() ? Goes::nowhere : Goes::on;
  }
  switch (decoded_.mnemonic) {
    case ZYDIS_MNEMONIC_RDTSC:
    case ZYDIS_MNEMONIC_RDTSCP:
      return Goes::on;
    case ZYDIS_MNEMONIC_HLT:
      return Goes::nowhere;
    default:
      return Goes::anywhere;
  }
}

bool Step::is_trap() const noexcept {
  switch (decoded_.mnemonic) {
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
      return true;
    default:
      return false;
  }
}

std::uintptr_t Step::target() const noexcept {
  if (decoded_.operand_count == 0) return 0;
  if (operand(0).type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
    return next_ + static_cast<std::uintptr_t>(operand(0).imm.value.s);
  }
  if (operand(0).type != ZYDIS_OPERAND_TYPE_MEMORY) return 0;
  return next_ + static_cast<std::uintptr_t>(displacement(operand(0).mem));
}

// Exchange with memory is atomic without being told.
bool Step::is_atomic() const noexcept {
  return (decoded_.attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0 || decoded_.mnemonic == ZYDIS_MNEMONIC_XCHG;
}

// Two ints may be one store of 8 bytes, which need not begin at a word of 8: as half of a vector, as a number
// that the compiler knew, or because they change places. A scalar double is none of these.
bool Step::may_join_ints() const noexcept {
  switch (decoded_.mnemonic) {
    case ZYDIS_MNEMONIC_ROL:
    case ZYDIS_MNEMONIC_ROR:
      return true;
    case ZYDIS_MNEMONIC_MOVSD:
    case ZYDIS_MNEMONIC_VMOVSD:
      return false;
    default:
      break;
  }
  for (std::size_t i = 0; i < decoded_.operand_count_visible; ++i) {
    const bool is_number = operand(i).type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
    if (is_number && decoded_.mnemonic == ZYDIS_MNEMONIC_MOV) return true;
    if (operand(i).type == ZYDIS_OPERAND_TYPE_REGISTER && is_vector(operand(i).reg.value)) return true;
  }
  return false;
}

// A vector without a mask tells nothing of its elements: where they are chars, the loop around it has an end
// that stores them one by one.
std::size_t Step::value_bytes(const ZydisDecodedOperand& operand) const noexcept {
  if (decoded_.mnemonic == ZYDIS_MNEMONIC_MASKMOVDQU || decoded_.mnemonic == ZYDIS_MNEMONIC_MASKMOVQ ||
      decoded_.mnemonic == ZYDIS_MNEMONIC_VMASKMOVDQU) {
    return 1;
  }
  const bool masked =
      decoded_.avx.mask.reg != ZYDIS_REGISTER_NONE && decoded_.avx.mask.reg != ZYDIS_REGISTER_K0;
  const bool scattered = operand.mem.type == ZYDIS_MEMOP_TYPE_VSIB;
  const std::size_t bytes = (masked || scattered ? operand.element_size : operand.size) / 8u;
  if (bytes == word_bytes && may_join_ints()) return int_bytes;
  return bytes == 0 ? 1 : std::bit_floor(std::min(bytes, word_bytes));
}

std::optional<Step::Store> Step::store_by(const ZydisDecodedOperand& operand,
                                          const Frame& frame) const noexcept {
  const ZydisDecodedOperandMem& memory = operand.mem;
  if (is_threads_own(memory)) return std::nullopt;
  const bool rip_relative = memory.base == ZYDIS_REGISTER_RIP;
  const bool absolute = memory.base == ZYDIS_REGISTER_NONE && !has_index(memory);
  if (rip_relative || absolute) {
    const auto number = static_cast<std::uintptr_t>(displacement(memory));
    return Store{rip_relative ? next_ + number : number, std::max<std::size_t>(operand.size / 8u, 1)};
  }
  const Frame::Value place = address_in(memory, frame);
  if (place.holds != Frame::Holds::anything) return std::nullopt;
  return Store{0, std::min(value_bytes(operand), alignment_of(displacement(memory)))};
}

std::optional<Step::Store> Step::store(const Frame& frame) const noexcept {
  if (is_atomic()) return std::nullopt;
  for (std::size_t i = 0; i < decoded_.operand_count; ++i) {
    const bool stores = operand(i).type == ZYDIS_OPERAND_TYPE_MEMORY && writes(operand(i));
    if (!stores) continue;
    if (const std::optional<Store> found = store_by(operand(i), frame)) return found;
  }
  return std::nullopt;
}

std::uintptr_t Step::named_address() const noexcept {
  if (decoded_.mnemonic == ZYDIS_MNEMONIC_LEA && operand(1).mem.base == ZYDIS_REGISTER_RIP)
    return next_ + static_cast<std::uintptr_t>(displacement(operand(1).mem));
  const bool copies = decoded_.mnemonic == ZYDIS_MNEMONIC_MOV || decoded_.mnemonic == ZYDIS_MNEMONIC_PUSH;
  for (std::size_t i = 0; copies && i < decoded_.operand_count_visible; ++i) {
    if (operand(i).type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
      return static_cast<std::uintptr_t>(operand(i).imm.value.u);
  }
  return 0;
}

// Moves between registers and known words of the frame, and addresses. Result: whether this was one.
bool Step::carry_out_move(Frame& frame) const noexcept {
  if (decoded_.operand_count < 2) return false;
  const ZydisDecodedOperand& to = operand(0);
  const ZydisDecodedOperand& from = operand(1);
  const bool from_memory = from.type == ZYDIS_OPERAND_TYPE_MEMORY;
  if (decoded_.mnemonic == ZYDIS_MNEMONIC_LEA && is_general(to) && from_memory) {
    frame.set(number_of(to.reg.value), address_in(from.mem, frame));
    return true;
  }
  if (decoded_.mnemonic != ZYDIS_MNEMONIC_MOV) return false;
  if (is_general(to) && is_general(from)) {
    frame.set(number_of(to.reg.value), frame.value(number_of(from.reg.value)));
    return true;
  }
  const ZydisDecodedOperand& memory = from_memory ? from : to;
  if (memory.type != ZYDIS_OPERAND_TYPE_MEMORY || is_threads_own(memory.mem)) return false;
  const Frame::Value place = address_in(memory.mem, frame);
  if (place.holds != Frame::Holds::frame || has_index(memory.mem)) return false;
  if (from_memory && is_general(to)) {
    frame.set(number_of(to.reg.value), frame.load(place.offset));
    return true;
  }
  if (!from_memory && is_general(from)) {
    frame.store(place.offset, word_bytes, frame.value(number_of(from.reg.value)));
    return true;
  }
  return false;
}

bool Step::carry_out_sum(Frame& frame) const noexcept {
  const bool adds = decoded_.mnemonic == ZYDIS_MNEMONIC_ADD,
             subtracts = decoded_.mnemonic == ZYDIS_MNEMONIC_SUB;
  if ((!adds && !subtracts) || !is_general(operand(0)) || operand(1).type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
    return false;
  frame.add(number_of(operand(0).reg.value), adds ? operand(1).imm.value.s : -operand(1).imm.value.s);
  return true;
}

bool Step::carry_out_stack(Frame& frame) const noexcept {
  constexpr std::int64_t slot = 8;
  if (decoded_.mnemonic == ZYDIS_MNEMONIC_LEAVE) {
    frame.set(rsp, Frame::moved(frame.value(rbp), slot));
    frame.set(rbp, {});
    return true;
  }
  const bool pushes = decoded_.mnemonic == ZYDIS_MNEMONIC_PUSH;
  if (!pushes && decoded_.mnemonic != ZYDIS_MNEMONIC_POP) return false;
  const bool known = is_general(operand(0));
  const unsigned number = known ? number_of(operand(0).reg.value) : 16;
  if (pushes) {
    const Frame::Value value = known ? frame.value(number) : Frame::Value{};
    frame.add(rsp, -slot);
    if (frame.value(rsp).holds == Frame::Holds::frame) frame.store(frame.value(rsp).offset, slot, value);
    return true;
  }
  const Frame::Value top = frame.value(rsp);
  frame.add(rsp, slot);
  if (known) frame.set(number, top.holds == Frame::Holds::frame ? frame.load(top.offset) : Frame::Value{});
  return true;
}

void Step::carry_out(Frame& frame) const noexcept {
  if (carry_out_stack(frame) || carry_out_move(frame) || carry_out_sum(frame)) return;
  if (decoded_.meta.category == ZYDIS_CATEGORY_CALL || decoded_.meta.category == ZYDIS_CATEGORY_RET) return;
  for (std::size_t i = 0; i < decoded_.operand_count; ++i) {
    if (!writes(operand(i))) continue;
    if (operand(i).type == ZYDIS_OPERAND_TYPE_MEMORY) {
      const Frame::Value place = address_in(operand(i).mem, frame);
      if (place.holds == Frame::Holds::frame) frame.store(place.offset, operand(i).size / 8u, {});
    } else if (operand(i).type == ZYDIS_OPERAND_TYPE_REGISTER) {
      const unsigned number = number_of(operand(i).reg.value);
      if (number < 16) frame.set(number, {});
    }
  }
}

}  // namespace musubi::atomics::x86_64
