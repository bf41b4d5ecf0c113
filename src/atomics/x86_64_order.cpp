#include "atomics/x86_64_order.h"

#include <Zydis/Zydis.h>

#include <algorithm>
#include <array>
#include <optional>

namespace musubi::atomics::x86_64 {
namespace {

// A register (the widest that it is part of), or a word of the function's frame.
struct Place {
  ZydisRegister reg = ZYDIS_REGISTER_NONE;  // of a frame: its base
  std::int64_t displacement = 0;
  bool in_frame = false;

  friend bool operator==(const Place&, const Place&) = default;
};

Place place_of(ZydisRegister reg) {
  const ZydisRegister widest = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
  return {widest != ZYDIS_REGISTER_NONE ? widest : reg};
}

class Places {
 public:
  bool contains(const Place& place) const { return std::find(begin(), end(), place) != end(); }
  bool empty() const { return count_ == 0; }
  std::size_t size() const { return count_; }
  bool contain_all(const Places& other) const {
    return std::all_of(other.begin(), other.end(), [this](const Place& place) { return contains(place); });
  }
  bool full() const { return count_ == places_.size(); }
  void add(const Place& place) {
    if (!contains(place) && !full()) places_[count_++] = place;
  }
  void remove(const Place& place) {
    const Place* const found = std::find(begin(), end(), place);
    if (found != end()) places_[static_cast<std::size_t>(found - begin())] = places_[--count_];
  }
  bool share_any_with(const Places& other) const {
    return std::any_of(begin(), end(), [&](const Place& place) { return other.contains(place); });
  }

  const Place* begin() const { return places_.data(); }
  const Place* end() const { return places_.data() + count_; }

 private:
  std::array<Place, 16> places_{};
  std::size_t count_ = 0;
};

struct Step {
  Places reads;
  Places writes;
  bool loads = false;     // from memory outside of the frame
  bool is_copy = false;   // of one place to another
  bool is_known = false;  // the fields above describe its effects completely
  bool reads_flags = false;
  bool writes_flags = false;
  std::size_t length = 0;
  std::int64_t jump = 0;  // of a conditional jump: the distance from its end
  bool jumps_if_equal = false;
  bool jumps_if_unequal = false;
  bool notes_success = false;  // stores success in a byte; a test of the byte inverts the condition
};

bool is_move(ZydisMnemonic mnemonic) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
    case ZYDIS_MNEMONIC_MOVZX:
    case ZYDIS_MNEMONIC_MOVSX:
    case ZYDIS_MNEMONIC_MOVSXD:
    case ZYDIS_MNEMONIC_MOVQ:
    case ZYDIS_MNEMONIC_MOVD:
    case ZYDIS_MNEMONIC_VMOVQ:
    case ZYDIS_MNEMONIC_VMOVD:
    case ZYDIS_MNEMONIC_MOVSD:
    case ZYDIS_MNEMONIC_MOVSS:
    case ZYDIS_MNEMONIC_MOVAPS:
    case ZYDIS_MNEMONIC_MOVAPD:
    case ZYDIS_MNEMONIC_VMOVSD:
    case ZYDIS_MNEMONIC_VMOVSS:
    case ZYDIS_MNEMONIC_VMOVAPS:
    case ZYDIS_MNEMONIC_VMOVAPD:
      return true;
    default:
      return false;
  }
}

void add_memory(const ZydisDecodedOperand& operand, Step& step) {
  const ZydisRegister base = operand.mem.base;
  const bool in_frame =
      (base == ZYDIS_REGISTER_RBP || base == ZYDIS_REGISTER_RSP) && operand.mem.index == ZYDIS_REGISTER_NONE;
  const Place place{base, operand.mem.disp.value, true};
  if ((operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0) {
    in_frame ? step.reads.add(place) : void(step.loads = true);
  }
  if ((operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0 && in_frame) step.writes.add(place);
}

// The code before such an instruction belongs to another path.
bool leads_elsewhere(ZydisInstructionCategory category) {
  return category == ZYDIS_CATEGORY_CALL || category == ZYDIS_CATEGORY_RET ||
         category == ZYDIS_CATEGORY_UNCOND_BR || category == ZYDIS_CATEGORY_INTERRUPT;
}

void add_flow(const ZydisDecodedInstruction& decoded, Step& step) {
  step.length = decoded.length;
  step.jumps_if_equal = decoded.mnemonic == ZYDIS_MNEMONIC_JZ;
  step.jumps_if_unequal = decoded.mnemonic == ZYDIS_MNEMONIC_JNZ;
  step.notes_success = decoded.mnemonic == ZYDIS_MNEMONIC_SETZ;
  if (decoded.meta.category == ZYDIS_CATEGORY_COND_BR) step.jump = decoded.raw.imm[0].value.s;
  if (decoded.cpu_flags == nullptr) return;
  const ZydisAccessedFlags& flags = *decoded.cpu_flags;
  step.reads_flags = flags.tested != 0;
  step.writes_flags = (flags.modified | flags.set_0 | flags.set_1 | flags.undefined) != 0;
}

Step step_at(const ZydisDecoder& decoder, const std::uint8_t* code, std::size_t bytes) {
  ZydisDecodedInstruction decoded;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  Step step;
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, bytes, &decoded, operands))) return step;
  if (leads_elsewhere(decoded.meta.category)) return step;
  step.is_known = true;
  add_flow(decoded, step);
  if (decoded.mnemonic == ZYDIS_MNEMONIC_NOP) return step;  // its operands are padding, too
  step.is_copy = is_move(decoded.mnemonic);
  const bool clears = decoded.operand_count_visible == 2 && operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
                      operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
                      operands[0].reg.value == operands[1].reg.value &&
                      (decoded.mnemonic == ZYDIS_MNEMONIC_XOR || decoded.mnemonic == ZYDIS_MNEMONIC_PXOR);
  for (unsigned i = 0; i < decoded.operand_count; ++i) {
    const ZydisDecodedOperand& operand = operands[i];
    if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY && decoded.mnemonic != ZYDIS_MNEMONIC_LEA) {
      add_memory(operand, step);
    } else if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY) {  // lea computes
      step.reads.add(place_of(operand.mem.base));
      step.reads.add(place_of(operand.mem.index));
    } else if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER) {
      if ((operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0)
        step.writes.add(place_of(operand.reg.value));
      if ((operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0 && !clears)
        step.reads.add(place_of(operand.reg.value));
    }
  }
  const Place flags = place_of(ZYDIS_REGISTER_RFLAGS);
  step.reads.remove(flags);
  step.writes.remove(flags);
  return step;
}

// Goes back from a compare-and-exchange. Finds the origin of the expected value and the inputs of the new
// value.
class History {
 public:
  explicit History(const Instruction& instruction) {
    expected_.add(place_of(ZYDIS_REGISTER_RAX));
    const auto source = static_cast<unsigned>(instruction.source_register);
    inputs_.add(place_of(static_cast<ZydisRegister>(ZYDIS_REGISTER_RAX + source)));
  }

  // Result: whether the new value is computed from the expected one; nothing: not known yet.
  std::optional<bool> go_back(const Step& step) {
    if (!step.is_known) return is_shared();
    // A test of the value: a count that must not be zero, a flag bit.
    if (step.writes.empty() && step.reads.share_any_with(expected_)) return false;
    const bool makes_expected = step.writes.share_any_with(expected_);
    const bool found = makes_expected && step.loads;
    if (found) return step.writes.share_any_with(inputs_) && inputs_.share_any_with(expected_);
    if (makes_expected && !step.is_copy) return false;
    replace(expected_, step, makes_expected);
    replace(inputs_, step, step.writes.share_any_with(inputs_));
    return std::nullopt;
  }
  bool is_shared() const { return expected_.share_any_with(inputs_); }

 private:
  // A value that is loaded through a pointer is not computed from the pointer, which does not count as read.
  static void replace(Places& places, const Step& step, bool is_made) {
    if (!is_made) return;
    for (const Place& place : step.writes) places.remove(place);
    for (const Place& place : step.reads) places.add(place);
  }

  Places expected_, inputs_;
};

bool computes_from_what_it_finds(const ZydisDecoder& decoder, const std::uint8_t* code, std::size_t bytes,
                                 const Instruction& instruction, const Recent& before) {
  History history(instruction);
  for (std::size_t back = 0; back < before.count(); ++back) {
    const std::size_t at = before.before(back);
    const std::optional<bool> known = history.go_back(step_at(decoder, code + at, bytes - at));
    if (known) return *known;
  }
  return history.is_shared();
}

// Whether the code at `at` reads the flags before it changes them.
bool reads_flags(const ZydisDecoder& decoder, const std::uint8_t* code, std::size_t bytes, std::size_t at) {
  constexpr unsigned steps_max = 6;
  for (unsigned i = 0; i < steps_max && at < bytes; ++i) {
    const Step step = step_at(decoder, code + at, bytes - at);
    if (step.reads_flags) return true;
    if (!step.is_known || step.writes_flags) return false;
    at += step.length;
  }
  return false;
}

// The places that hold the expected value when a compare-and-exchange begins.
Places copies_of_expected(const ZydisDecoder& decoder, const std::uint8_t* code, std::size_t bytes,
                          const Recent& before) {
  Places copies, changed_since;
  copies.add(place_of(ZYDIS_REGISTER_RAX));
  for (std::size_t back = 0; back < before.count(); ++back) {
    const std::size_t at = before.before(back);
    const Step step = step_at(decoder, code + at, bytes - at);
    if (!step.is_known) break;
    const bool makes = step.writes.share_any_with(copies), takes = step.reads.share_any_with(copies);
    if (makes && (!step.is_copy || step.loads)) break;
    if (step.is_copy && (makes || takes)) {
      for (const Place& place : makes ? step.reads : step.writes) {
        if (!changed_since.contains(place)) copies.add(place);
      }
    }
    for (const Place& place : step.writes) changed_since.add(place);
  }
  return copies;
}

// Whether the code at `at`, after a successful compare-and-exchange, uses the old value (`found` holds it).
// Moving the value, or comparing it with itself, is no use: unoptimised code reports success that way.
bool looks_at_result(const ZydisDecoder& decoder, const std::uint8_t* code, std::size_t bytes, std::size_t at,
                     Places found) {
  constexpr unsigned steps_max = 24;
  bool is_noted = false;
  for (unsigned i = 0; i < steps_max && at < bytes; ++i) {
    const Step step = step_at(decoder, code + at, bytes - at);
    if (!step.is_known) return false;
    at += step.length;
    if (step.jump != 0) {
      if (!step.jumps_if_equal && !step.jumps_if_unequal) return false;
      const bool success_jumps = is_noted ? step.jumps_if_unequal : step.jumps_if_equal;
      if (success_jumps) at += static_cast<std::size_t>(step.jump);
      is_noted = false;
      continue;
    }
    is_noted = is_noted || step.notes_success;
    const bool reads = step.reads.share_any_with(found);
    const bool compares_with_itself =
        step.writes.empty() && step.writes_flags && step.reads.size() == 2 && found.contain_all(step.reads);
    const bool moves = step.is_copy && !step.writes.empty();
    if (reads && !moves && !compares_with_itself) return true;
    for (const Place& place : step.writes) reads ? found.add(place) : found.remove(place);
    if (found.empty()) return false;
  }
  return false;
}

}  // namespace

bool orders(const std::uint8_t* code, std::size_t bytes, std::size_t at, const Instruction& instruction,
            const Recent& before) noexcept {
  if (instruction.is_fence()) return false;
  const std::size_t next = at + instruction.length;
  ZydisDecoder decoder;
  if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
    return true;
  switch (instruction.mnemonic) {
    case Mnemonic::xadd:
      return instruction.bytes < 4 || !only_takes_a_place(code, bytes, next, instruction.source_register);
    case Mnemonic::xchg:
    case Mnemonic::cmpxchg_pair:
      return true;
    case Mnemonic::cmpxchg:
      return !computes_from_what_it_finds(decoder, code, bytes, instruction, before) ||
             looks_at_result(decoder, code, bytes, next, copies_of_expected(decoder, code, bytes, before));
    default:
      break;
  }
  return reads_flags(decoder, code, bytes, next);
}

}  // namespace musubi::atomics::x86_64
