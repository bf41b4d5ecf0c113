#include "os/fault_context.h"

namespace musubi::os {

#if defined(__x86_64__)

FaultContext fault_context(const ucontext_t& context) noexcept {
  // Error code of the page fault (Intel SDM volume 3, 4.7): bit 1 = write, bit 4 = instruction fetch.
  constexpr greg_t write_bit = 1 << 1;
  constexpr greg_t fetch_bit = 1 << 4;
  const auto& registers = context.uc_mcontext.gregs;
  FaultAccess access = FaultAccess::read;
  if (registers[REG_ERR] & fetch_bit) {
    access = FaultAccess::execute;
  } else if (registers[REG_ERR] & write_bit) {
    access = FaultAccess::write;
  }
  return FaultContext{static_cast<std::uintptr_t>(registers[REG_RIP]),
                      static_cast<std::uintptr_t>(registers[REG_RSP]), access};
}

#else
#error \
    "say here how this processor reports the address of the instruction, the stack pointer and read or write"
#endif

}  // namespace musubi::os
