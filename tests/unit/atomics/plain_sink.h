// A sink for tests of the code between patched instructions and the runtime.
#pragma once

#include <cerrno>
#include <cstring>

#include "atomics/sink.h"

namespace musubi::atomics {

// Carries out operations on plain memory, and clobbers every register that the runtime may use: it uses no
// x87.
class PlainSink final : public AtomicSink {
 public:
  AtomicValue execute(std::uintptr_t address, const AtomicOperation& operation) noexcept override {
    ++executed;
    AtomicValue old = 0;
    std::memcpy(&old, reinterpret_cast<const void*>(address), operation.bytes);
    const AtomicValue result = apply(operation, old);
    std::memcpy(reinterpret_cast<void*>(address), &result, operation.bytes);
    spoil();
    return old;
  }
  void fence() noexcept override {
    ++fences;
    spoil();
  }

  unsigned executed = 0, fences = 0;
  bool default_rounding = true;

 private:
  void spoil() {
    default_rounding = default_rounding && (__builtin_ia32_stmxcsr() & 0xffc0) == 0x1f80;
    errno = 77;
    asm volatile("pcmpeqd %%xmm0, %%xmm0; pcmpeqd %%xmm7, %%xmm7; pcmpeqd %%xmm15, %%xmm15" ::
                     : "xmm0", "xmm7", "xmm15");
    if (__builtin_cpu_supports("avx"))
      asm volatile("vzeroall; vcmptrueps %%ymm9, %%ymm9, %%ymm9" ::: "xmm0", "xmm1", "xmm9");
    if (__builtin_cpu_supports("avx512f"))
      asm volatile(
          "vpxord %zmm17, %zmm17, %zmm17; kxnorw %k1, %k1, %k1; vpternlogd $0xff, %zmm5, %zmm5, %zmm5");
  }
};

}  // namespace musubi::atomics
