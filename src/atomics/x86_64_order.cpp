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
  bool is_known = false;  // all that it does stands above
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

Step step_at(const ZydisDecoder& decoder, const std::uint8_t* code, std::size_t bytes) {
  ZydisDecodedInstruction decoded;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  Step step;
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, bytes, &decoded, operands))) return step;
  if (decoded.meta.category == ZYDIS_CATEGORY_CALL) return step;
  step.is_known = true;
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

// Goes back from a compare-and-exchange: where the value that it expects comes from, and what the new one is
// computed from.
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
  // What is loaded through a pointer is not computed from the pointer: that is not among what a step reads.
  static void replace(Places& places, const Step& step, bool is_made) {
    if (!is_made) return;
    for (const Place& place : step.writes) places.remove(place);
    for (const Place& place : step.reads) places.add(place);
  }

  Places expected_, inputs_;
};

bool computes_from_what_it_finds(const std::uint8_t* code, std::size_t bytes, const Instruction& instruction,
                                 const Recent& before) {
  ZydisDecoder decoder;
  if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
    return false;
  History history(instruction);
  for (std::size_t back = 0; back < before.count(); ++back) {
    const std::size_t at = before.before(back);
    const std::optional<bool> known = history.go_back(step_at(decoder, code + at, bytes - at));
    if (known) return *known;
  }
  return history.is_shared();
}

// Whether the code at `next` reads the flags at once.
bool reads_flags(const std::uint8_t* next, std::size_t bytes) {
  if (bytes < 2) return false;
  const std::uint8_t first = next[0] == 0x0f ? next[1] : next[0];
  const std::uint8_t kind = first & 0xf0;
  return next[0] == 0x0f ? kind == 0x80 || kind == 0x90 || kind == 0x40 : kind == 0x70;
}

}  // namespace

bool orders(const std::uint8_t* code, std::size_t bytes, std::size_t at, const Instruction& instruction,
            const Recent& before) noexcept {
  if (instruction.is_fence()) return false;
  switch (instruction.mnemonic) {
    case Mnemonic::xadd:
    case Mnemonic::xchg:
    case Mnemonic::cmpxchg_pair:
      return true;
    case Mnemonic::cmpxchg:
      return !computes_from_what_it_finds(code, bytes, instruction, before);
    default:
      break;
  }
  const std::size_t next = at + instruction.length;
  return reads_flags(code + next, bytes - std::min(bytes, next));
}

}  // namespace musubi::atomics::x86_64
