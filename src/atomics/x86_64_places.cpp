#include "atomics/x86_64_order.h"

#include <Zydis/Zydis.h>

#include <algorithm>
#include <array>
#include <optional>

namespace musubi::atomics::x86_64 {
namespace {

// One bit for each general register, by the processor's number; one more for all other registers.
using Registers = std::uint32_t;
constexpr Registers bit(unsigned number) {
  return Registers{1} << number;
}
constexpr Registers others = bit(16);
// rbx, rbp and r12 to r15; rax and rdx; rdi, rsi, rdx, rcx, r8, r9 and rax, which counts vectors.
constexpr Registers kept_by_calls = bit(3) | bit(5) | bit(12) | bit(13) | bit(14) | bit(15);
constexpr Registers of_results = bit(0) | bit(2);
constexpr Registers of_arguments = bit(7) | bit(6) | bit(2) | bit(1) | bit(8) | bit(9) | bit(0);

Registers register_of(ZydisRegister name) {
  const ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name);
  if (ZydisRegisterGetClass(whole) == ZYDIS_REGCLASS_GPR64)
    return bit(static_cast<unsigned>(ZydisRegisterGetId(whole)));
  const bool is_none = whole == ZYDIS_REGISTER_NONE && name == ZYDIS_REGISTER_NONE;
  return is_none || name == ZYDIS_REGISTER_RIP || whole == ZYDIS_REGISTER_RFLAGS ? 0 : others;
}

struct Decoded {
  ZydisDecodedInstruction instruction;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

// The effects of an instruction on registers and memory.
struct Effects {
  Registers reads = 0, writes = 0, cuts = 0;  // `cuts`: written as a whole
  Registers loads_at = 0;                     // addresses of its memory reads
  bool stores = false;
  bool tests_flags = false, changes_flags = false;
};

bool clears(const Decoded& d) {
  const auto mnemonic = d.instruction.mnemonic;
  return (mnemonic == ZYDIS_MNEMONIC_XOR || mnemonic == ZYDIS_MNEMONIC_SUB) &&
         d.operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
         d.operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
         d.operands[0].reg.value == d.operands[1].reg.value;
}

Effects effects_of(const Decoded& d) {
  Effects effects;
  if (d.instruction.mnemonic == ZYDIS_MNEMONIC_NOP) return effects;
  for (unsigned i = 0; i < d.instruction.operand_count; ++i) {
    const ZydisDecodedOperand& operand = d.operands[i];
    const bool is_read = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
    const bool is_written = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER) {
      const Registers named = register_of(operand.reg.value);
      if (is_read && !clears(d)) effects.reads |= named;
      if (is_written) effects.writes |= named;
      if (operand.actions == ZYDIS_OPERAND_ACTION_WRITE && operand.size >= 32) effects.cuts |= named;
      if (is_written && clears(d) && operand.size >= 32) effects.cuts |= named;
    } else if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY) {
      const Registers address = register_of(operand.mem.base) | register_of(operand.mem.index);
      if (d.instruction.mnemonic == ZYDIS_MNEMONIC_LEA) {
        effects.reads |= address;
      } else {
        if (is_read) effects.loads_at |= address;
        effects.stores = effects.stores || is_written;
      }
    }
  }
  if (d.instruction.cpu_flags != nullptr) {
    const ZydisAccessedFlags& flags = *d.instruction.cpu_flags;
    effects.tests_flags = flags.tested != 0;
    effects.changes_flags = (flags.modified | flags.set_0 | flags.set_1 | flags.undefined) != 0;
  }
  return effects;
}

// A path through the code, with the registers that hold the result or values computed from it.
struct Way {
  std::size_t at;
  Registers found;
  bool flags;  // depend on the result

  friend bool operator==(const Way&, const Way&) = default;
};

class Ways {
 public:
  // Each once. Result: false if there are too many.
  bool add(const Way& way) {
    if (std::find(ways_.begin(), ways_.begin() + count_, way) != ways_.begin() + count_) return true;
    if (count_ == ways_.size()) return false;
    ways_[count_++] = way;
    return true;
  }
  std::optional<Way> next() {
    if (begun_ == count_) return std::nullopt;
    return ways_[begun_++];
  }

 private:
  std::array<Way, 32> ways_{};
  std::size_t count_ = 0, begun_ = 0;
};

enum class Outcome : std::uint8_t { goes_on, ends, is_looked_at };

// An instruction that does not branch.
Outcome carry_out(const Effects& effects, Way& way) {
  if (way.flags && effects.tests_flags) return Outcome::is_looked_at;
  if ((way.found & effects.loads_at) != 0) return Outcome::is_looked_at;
  const bool uses = (way.found & effects.reads) != 0;
  if (uses && (effects.stores || (effects.writes & others) != 0)) return Outcome::is_looked_at;
  way.found &= ~effects.cuts;
  if (uses) way.found |= effects.writes;
  if (effects.changes_flags) way.flags = uses;
  return way.found == 0 && !way.flags ? Outcome::ends : Outcome::goes_on;
}

class Search {
 public:
  Search(const std::uint8_t* code, std::size_t bytes) : code_(code), bytes_(bytes) {
    is_ready_ = ZYAN_SUCCESS(ZydisDecoderInit(&decoder_, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64));
  }

  bool only_takes_a_place(const Way& begin) {
    if (!is_ready_ || !ways_.add(begin)) return false;
    while (std::optional<Way> way = ways_.next()) {
      Outcome outcome = Outcome::goes_on;
      while (outcome == Outcome::goes_on) {
        if (steps_++ == steps_max) return false;
        outcome = step(*way);
      }
      if (outcome == Outcome::is_looked_at) return false;
    }
    return true;
  }

 private:
  static constexpr unsigned steps_max = 400;

  Outcome step(Way& way) {
    Decoded d;
    if (way.at >= bytes_ || !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder_, code_ + way.at, bytes_ - way.at,
                                                                 &d.instruction, d.operands))) {
      return Outcome::is_looked_at;
    }
    way.at += d.instruction.length;
    const auto ends_unless = [&](Registers live) {
      return (way.found & live) != 0 ? Outcome::is_looked_at : Outcome::ends;
    };
    switch (d.instruction.meta.category) {
      case ZYDIS_CATEGORY_RET:
        return ends_unless(of_results | kept_by_calls);
      case ZYDIS_CATEGORY_CALL:
        return ends_unless(of_arguments | kept_by_calls);
      case ZYDIS_CATEGORY_COND_BR:
      case ZYDIS_CATEGORY_UNCOND_BR:
        return branch(d, way);
      case ZYDIS_CATEGORY_INTERRUPT:
      case ZYDIS_CATEGORY_SYSCALL:
        return Outcome::is_looked_at;
      default:
        return carry_out(effects_of(d), way);
    }
  }

  Outcome branch(const Decoded& d, Way& way) {
    const bool is_conditional = d.instruction.meta.category == ZYDIS_CATEGORY_COND_BR;
    const bool is_direct = d.operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
    if (!is_direct || (is_conditional && (way.flags || (way.found & effects_of(d).reads) != 0)))
      return Outcome::is_looked_at;
    Way target = way;
    target.at += static_cast<std::size_t>(d.operands[0].imm.value.s);
    if (!ways_.add(target)) return Outcome::is_looked_at;
    return is_conditional ? Outcome::goes_on : Outcome::ends;
  }

  const std::uint8_t* code_;
  std::size_t bytes_;
  ZydisDecoder decoder_;
  bool is_ready_ = false;
  Ways ways_;
  unsigned steps_ = 0;
};

}  // namespace

// The flags after the addition depend on the sum.
bool only_takes_a_place(const std::uint8_t* code, std::size_t bytes, std::size_t at,
                        unsigned result) noexcept {
  return result < 16 && Search(code, bytes).only_takes_a_place({at, bit(result), true});
}

}  // namespace musubi::atomics::x86_64
