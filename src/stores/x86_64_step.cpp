#include "stores/x86_64_step.h"

#include <algorithm>
#include <span>
#include <utility>

namespace musubi::stores::x86_64 {
namespace {

constexpr std::uint32_t word_bytes = 8;
constexpr unsigned word_bits = 64, int_bits = 32;

bool is_register(const ZydisDecodedOperand& operand) {
  return operand.type == ZYDIS_OPERAND_TYPE_REGISTER;
}

// The frame's number of the register that `name` is a part of.
unsigned number_of(ZydisRegister name) {
  const ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name);
  switch (ZydisRegisterGetClass(whole)) {
    case ZYDIS_REGCLASS_GPR64:
      return static_cast<unsigned>(ZydisRegisterGetId(whole));
    case ZYDIS_REGCLASS_ZMM:
      return first_vector + static_cast<unsigned>(ZydisRegisterGetId(whole));
    default:
      return no_register;
  }
}

bool is_vector(const ZydisDecodedOperand& operand) {
  if (!is_register(operand)) return false;
  const unsigned number = number_of(operand.reg.value);
  return number >= first_vector && number != no_register;
}

std::int64_t displacement(const ZydisDecodedOperandMem& memory) {
  return memory.disp.has_displacement ? memory.disp.value : 0;
}

bool is_threads_own(const ZydisDecodedOperandMem& memory) {
  return memory.segment == ZYDIS_REGISTER_FS || memory.segment == ZYDIS_REGISTER_GS;
}

bool writes(const ZydisDecodedOperand& operand) {
  return (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
}

bool moves_if(ZydisMnemonic mnemonic) {
  return mnemonic >= ZYDIS_MNEMONIC_CMOVB && mnemonic <= ZYDIS_MNEMONIC_CMOVZ;
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
                       operand(0).mem.base == ZYDIS_REGISTER_RIP &&
                       operand(0).mem.index == ZYDIS_REGISTER_NONE;
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

// XCHG with memory is atomic without a prefix.
bool Step::is_atomic() const noexcept {
  return (decoded_.attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0 || decoded_.mnemonic == ZYDIS_MNEMONIC_XCHG;
}

// For a store that may skip parts: the size of such a part. 0: the store is whole.
std::uint32_t Step::element_bytes(const ZydisDecodedOperand& operand) const noexcept {
  switch (decoded_.mnemonic) {
    case ZYDIS_MNEMONIC_MASKMOVDQU:
    case ZYDIS_MNEMONIC_MASKMOVQ:
    case ZYDIS_MNEMONIC_VMASKMOVDQU:
      return 1;
    case ZYDIS_MNEMONIC_VMASKMOVPS:
    case ZYDIS_MNEMONIC_VPMASKMOVD:
      return word_bytes / 2;
    case ZYDIS_MNEMONIC_VMASKMOVPD:
    case ZYDIS_MNEMONIC_VPMASKMOVQ:
      return word_bytes;
    default:
      break;
  }
  const bool is_masked =
      decoded_.avx.mask.reg != ZYDIS_REGISTER_NONE && decoded_.avx.mask.reg != ZYDIS_REGISTER_K0;
  const bool repeats =
      (decoded_.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)) != 0;
  if (operand.mem.type == ZYDIS_MEMOP_TYPE_VSIB || is_masked) return std::max(operand.element_size / 8u, 1u);
  return repeats ? std::max(operand.size / 8u, 1u) : 0;
}

// In code at a fixed address a displacement is an address.
Value Step::address_of(const ZydisDecodedOperandMem& memory, const Frame& frame, Places& places) const {
  const auto number = static_cast<std::uintptr_t>(displacement(memory));
  if (memory.base == ZYDIS_REGISTER_RIP) return places.named(next_ + number);
  Value rest = Value::exactly(Root::number, 0);
  const bool is_product = memory.base == memory.index;
  const std::pair<ZydisRegister, std::int64_t> parts[] = {
      {is_product ? ZYDIS_REGISTER_NONE : memory.base, 1},
      {memory.index, memory.scale + (is_product ? 1 : 0)}};
  for (const auto& [name, scale] : parts) {
    if (name == ZYDIS_REGISTER_NONE) continue;
    const bool is_whole = ZydisRegisterGetClass(name) == ZYDIS_REGCLASS_GPR64;
    rest = sum(rest, product(is_whole ? frame.value(number_of(name)) : Value{}, scale));
  }
  return sum(rest, places.named(number));
}

std::optional<Site> Step::store(const Frame& frame, Places& places) const {
  for (std::size_t i = 0; i < decoded_.operand_count; ++i) {
    const ZydisDecodedOperand& to = operand(i);
    if (to.type != ZYDIS_OPERAND_TYPE_MEMORY || !writes(to)) continue;
    if (is_threads_own(to.mem)) return Site{Value{Root::storage, false, 1, 0}, 1, false};
    const Value address = address_of(to.mem, frame, places);
    if (address.root == Root::frame) continue;
    const std::uint32_t element = element_bytes(to);
    if (element != 0) return Site{spread(address, element), element, is_atomic()};
    return Site{address, std::max(to.size / 8u, 1u), is_atomic()};
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

Value Step::read(const ZydisDecodedOperand& from, const Frame& frame, Places& places) const {
  switch (from.type) {
    case ZYDIS_OPERAND_TYPE_IMMEDIATE:
      return places.named(static_cast<std::uintptr_t>(from.imm.value.s));
    case ZYDIS_OPERAND_TYPE_REGISTER:
      if (number_of(from.reg.value) == no_register) return {};
      if (is_vector(from)) return frame.value(number_of(from.reg.value));
      if (from.size == word_bits) return frame.value(number_of(from.reg.value));
      return from.size == int_bits ? cut_to_32_bits(frame.value(number_of(from.reg.value)), false) : Value{};
    case ZYDIS_OPERAND_TYPE_MEMORY: {
      if (from.size != word_bits || is_threads_own(from.mem)) return {};
      const Value address = address_of(from.mem, frame, places);
      if (address.root != Root::frame) return places.loaded(address);
      return address.is_exact() ? frame.load(address.offset) : Value{};
    }
    default:
      return {};
  }
}

void Step::write(const ZydisDecodedOperand& to, const Value& value, Frame& frame, Places& places) const {
  if (is_register(to)) {
    const unsigned number = number_of(to.reg.value);
    if (number == no_register) return;
    if (is_vector(to)) return frame.set(number, value);
    const bool is_address = Roots::is_found(value.root);  // below 4 GiB, if it fits into half a register
    if (to.size == word_bits ||
        (to.size == int_bits && is_address && operand(1).type == ZYDIS_OPERAND_TYPE_IMMEDIATE)) {
      frame.set(number, value);
    } else {
      frame.set(number, to.size == int_bits ? cut_to_32_bits(value, false) : Value{});
    }
  } else if (to.type == ZYDIS_OPERAND_TYPE_MEMORY && !is_threads_own(to.mem)) {
    frame.let_out(value);
    const Value address = address_of(to.mem, frame, places);
    const std::uint32_t element = element_bytes(to);
    if (address.root != Root::frame) return;
    frame.store(element == 0 ? address : spread(address, element), to.size / 8u, value);
  }
}

bool Step::is_of_one_register() const noexcept {
  return is_register(operand(0)) && is_register(operand(1)) && operand(0).reg.value == operand(1).reg.value;
}

std::optional<Value> Step::result_of_sum(const Frame& frame, Places& places) const {
  const auto at = [&](std::size_t i) { return read(operand(i), frame, places); };
  const bool is_number = operand(1).type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
  switch (decoded_.mnemonic) {
    case ZYDIS_MNEMONIC_ADD:
      return is_of_one_register() ? product(at(0), 2) : sum(at(0), at(1));
    case ZYDIS_MNEMONIC_SUB:
      return is_of_one_register() ? Value::exactly(Root::number, 0) : difference(at(0), at(1));
    case ZYDIS_MNEMONIC_INC:
      return sum(at(0), Value::exactly(Root::number, 1));
    case ZYDIS_MNEMONIC_DEC:
      return sum(at(0), Value::exactly(Root::number, -1));
    case ZYDIS_MNEMONIC_NEG:
      return negated(at(0));
    case ZYDIS_MNEMONIC_NOT:
      return sum(negated(at(0)), Value::exactly(Root::number, -1));
    case ZYDIS_MNEMONIC_SHL:
      if (!is_number) return Value{};
      return product(at(0), std::int64_t{1} << (operand(1).imm.value.u & 63));
    case ZYDIS_MNEMONIC_IMUL:
      if (decoded_.operand_count_visible == 3) return product(at(1), operand(2).imm.value.s);
      if (decoded_.operand_count_visible != 2) return std::nullopt;
      return at(1).is_exact() ? product(at(0), at(1).offset) : Value{};
    default:
      return std::nullopt;
  }
}

// A move of a vector register's lowest word.
std::optional<Value> Step::vector_result(const Frame& frame, Places& places) const {
  switch (decoded_.mnemonic) {
    case ZYDIS_MNEMONIC_MOVQ:
    case ZYDIS_MNEMONIC_VMOVQ:
      return read(operand(1), frame, places);
    case ZYDIS_MNEMONIC_MOVD:
    case ZYDIS_MNEMONIC_VMOVD:
      return cut_to_32_bits(read(operand(1), frame, places), false);
    case ZYDIS_MNEMONIC_MOVAPS:
    case ZYDIS_MNEMONIC_VMOVAPS:
    case ZYDIS_MNEMONIC_MOVDQA:
    case ZYDIS_MNEMONIC_VMOVDQA:
      if (!is_vector(operand(0)) || !is_vector(operand(1))) return std::nullopt;
      return read(operand(1), frame, places);
    default:
      return std::nullopt;
  }
}

// An instruction that makes a vector of words: nothing more is known of them.
void Step::combine_vectors(Frame& frame) const {
  if (decoded_.mnemonic == ZYDIS_MNEMONIC_VZEROALL || decoded_.meta.category == ZYDIS_CATEGORY_XSAVE)
    frame.forget_registers(vector_registers);
  const auto operands = std::span(operands_).first(decoded_.operand_count);
  if (std::ranges::none_of(operands, is_vector)) return;
  for (const ZydisDecodedOperand& from : operands) {
    const unsigned number = is_register(from) ? number_of(from.reg.value) : no_register;
    if (number != no_register) frame.let_out(frame.value(number));
  }
}

// The value that the instruction writes to its first operand; nothing: it does not compute addresses.
std::optional<Value> Step::result(const Frame& frame, Places& places) const {
  if (moves_if(decoded_.mnemonic))
    return joined(read(operand(0), frame, places), read(operand(1), frame, places));
  switch (decoded_.mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
      return read(operand(1), frame, places);
    case ZYDIS_MNEMONIC_LEA:
      return address_of(operand(1).mem, frame, places);
    case ZYDIS_MNEMONIC_MOVSXD:
      if (!is_register(operand(1)) || operand(1).size != int_bits) return Value{};
      return cut_to_32_bits(frame.value(number_of(operand(1).reg.value)), true);
    case ZYDIS_MNEMONIC_XOR:
      return is_of_one_register() ? Value::exactly(Root::number, 0) : Value{};
    default:
      break;
  }
  const std::optional<Value> moved = vector_result(frame, places);
  return moved ? moved : result_of_sum(frame, places);
}

bool Step::carry_out_stack(Frame& frame, Places& places) const {
  const auto move_top = [&frame](std::int64_t bytes) {
    frame.set(rsp, sum(frame.value(rsp), Value::exactly(Root::number, bytes)));
  };
  const auto top_word = [&frame] {
    const Value& top = frame.value(rsp);
    return top.is_exact() ? frame.load(top.offset) : Value{};
  };
  switch (decoded_.mnemonic) {
    case ZYDIS_MNEMONIC_PUSH: {
      const Value value = read(operand(0), frame, places);
      move_top(-std::int64_t{word_bytes});
      frame.store(frame.value(rsp), word_bytes, value);
      return true;
    }
    case ZYDIS_MNEMONIC_LEAVE:
      frame.set(rsp, frame.value(rbp));
      frame.set(rbp, top_word());
      move_top(word_bytes);
      return true;
    case ZYDIS_MNEMONIC_POP: {
      const Value value = top_word();
      move_top(word_bytes);
      write(operand(0), value, frame, places);
      return true;
    }
    case ZYDIS_MNEMONIC_AND: {
      // The function aligns its frame: all slots of the frame are then separate from the memory above it.
      constexpr std::int64_t far_below = std::int64_t{1} << 32;
      if (!is_register(operand(0)) || number_of(operand(0).reg.value) != rsp) return false;
      frame.set(rsp, sum(frame.value(rsp), Value::exactly(Root::number, -far_below)));
      return true;
    }
    case ZYDIS_MNEMONIC_CDQE:
      frame.set(rax, cut_to_32_bits(frame.value(rax), true));
      return true;
    default:
      return false;
  }
}

void Step::carry_out(Frame& frame, Places& places) const {
  if (carry_out_stack(frame, places)) return;
  if (decoded_.meta.category == ZYDIS_CATEGORY_CALL || decoded_.meta.category == ZYDIS_CATEGORY_RET) return;
  const std::optional<Value> made =
      decoded_.operand_count_visible == 0 ? std::nullopt : result(frame, places);
  if (!made) combine_vectors(frame);
  // Memory first: its address uses the old register values.
  for (const ZydisOperandType type : {ZYDIS_OPERAND_TYPE_MEMORY, ZYDIS_OPERAND_TYPE_REGISTER}) {
    for (std::size_t i = 0; i < decoded_.operand_count; ++i) {
      const bool is_first = i == 0 && made;
      if (operand(i).type == type && writes(operand(i)))
        write(operand(i), is_first ? *made : Value{}, frame, places);
    }
  }
}

}  // namespace musubi::stores::x86_64
