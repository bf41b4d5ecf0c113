#include "atomics/x86_64_entry.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>

#include "atomics/x86_64_semantics.h"
#include "base/check.h"
#include "os/x86_64_vector_state.h"

namespace musubi::atomics::x86_64 {

extern "C" {
// Written once at the start; a global because the assembly below reads it.
__attribute__((visibility("hidden"), used)) VectorState musubi_atomics_vector_state{};
}

namespace {

struct Traps {
  const TrapSite* sites;
  std::size_t count;
};
struct Sites {
  const Site* sites;
  std::size_t count;
};

// Patched machine code and the handler of SIGTRAP run without an argument, so their state has a fixed
// address: one per process, written before threads exist.
struct Attachment {
  AtomicSink* sink = nullptr;
  SharedRanges ranges;
  std::array<Traps, 2048> traps{};
  std::atomic<std::size_t> trap_tables{0};
  std::array<Sites, 2048> sites{};
  std::atomic<std::size_t> site_tables{0};
} attachment;

// The frame that the entry pushes.
struct Frame {
  Registers registers;
  std::uint64_t return_address;
};

extern "C" __attribute__((visibility("hidden"), used)) void musubi_atomics_serve(Frame* frame) {
  const std::uintptr_t behind_exits = frame->return_address + 2 * exit_bytes;
  const auto& record = *reinterpret_cast<const StubRecord*>((behind_exits + alignof(StubRecord) - 1) &
                                                            ~(alignof(StubRecord) - 1));
  const int saved_errno = errno;
  const auto stack_low = reinterpret_cast<std::uintptr_t>(frame + 1);
  attachment.sink->at(record.next_instruction, stack_low);
  if (record.instruction.is_fence()) {
    attachment.sink->fence();
    errno = saved_errno;
    return;
  }
  Registers& registers = frame->registers;
  registers.general[rsp] = stack_low + red_zone_bytes;
  const std::uintptr_t address =
      effective_address(record.instruction, registers, record.next_instruction, fs_base());
  if (!attachment.ranges.contains(address)) return;
  AtomicOperation operation = operation_of(record.instruction, registers);
  operation.order = record.instruction.order;
  const AtomicValue old = attachment.sink->execute(address, operation);
  complete(record.instruction, old, registers);
  frame->return_address += exit_bytes;
  errno = saved_errno;
}

const TrapSite* find_trap(std::uintptr_t address) {
  for (std::size_t i = 0; i < attachment.trap_tables; ++i) {
    const Traps& table = attachment.traps[i];
    const TrapSite* end = table.sites + table.count;
    if (address < table.sites->address || address > end[-1].address) continue;
    const TrapSite* found =
        std::lower_bound(table.sites, end, address,
                         [](const TrapSite& site, std::uintptr_t wanted) { return site.address < wanted; });
    if (found != end && found->address == address) return found;
  }
  return nullptr;
}

// Result: false where the processor cannot save them.
bool find_vector_state() {
  const os::VectorState found = os::vector_state();
  constexpr std::uint64_t avx512 = 0xe6;  // with all registers that the moves of the entry name
  const bool is_wide =
      found.tells_use && (found.components & avx512) == avx512 && __builtin_cpu_supports("avx512bw");
  musubi_atomics_vector_state = {found.bytes, static_cast<std::uint32_t>(found.components),
                                 static_cast<std::uint32_t>(found.components >> 32), found.compact ? 1u : 0u,
                                 is_wide ? 1u : 0u};
  return found.bytes != 0;
}

}  // namespace

// The part of the entry below that saves vectors on any processor. xrstor restores the program's MXCSR.
extern "C" __attribute__((naked, visibility("hidden"), used)) void musubi_atomics_save_by_xsave() {
  asm(R"(
      sub musubi_atomics_vector_state(%rip), %rsp
      and $-64, %rsp
      xor %eax, %eax
      .irp at, 512, 520, 528, 536, 544, 552, 560, 568
        mov %rax, \at(%rsp)
      .endr
      mov 8 + musubi_atomics_vector_state(%rip), %eax
      mov 12 + musubi_atomics_vector_state(%rip), %edx
      cmpl $0, 16 + musubi_atomics_vector_state(%rip)
      je 1f
      xsavec64 (%rsp)
      jmp 2f
  1:  xsave64 (%rsp)
  2:  mov %rsp, %r12
      pushq $0x1f80
      ldmxcsr (%rsp)
      mov %r12, %rsp
      call musubi_atomics_serve
      mov 8 + musubi_atomics_vector_state(%rip), %eax
      mov 12 + musubi_atomics_vector_state(%rip), %edx
      xrstor64 (%rsp)
      jmp musubi_atomics_leave
  )");
}

// Saves everything: the compiler of the program does not know that there is a call. MXCSR gets its default,
// as the ABI promises to C++.
//
// With AVX-512 by moves: xsave and xrstor take longer than the rest of an atomic operation on a local word.
// x87 is left out: no code of the runtime uses it. If the upper halves of vectors 0 to 15 are not in use
// (XGETBV with 1), they are not saved, but cleared after the call: some processors run 128-bit code slower
// while upper halves are in use.
__attribute__((naked, visibility("hidden"))) void musubi_atomics_entry() {
  asm(R"(
      pushfq
      .irp register, r15, r14, r13, r12, r11, r10, r9, r8, rdi, rsi, rbp, rsp, rbx, rdx, rcx, rax
        push %\register
      .endr
      cld
      mov %rsp, %rdi
      mov %rsp, %rbx
      cmpl $0, 20 + musubi_atomics_vector_state(%rip)
      je musubi_atomics_save_by_xsave

      sub $(32 * 64 + 8 * 8 + 8), %rsp
      and $-64, %rsp
      mov $1, %ecx
      xgetbv
      mov %eax, %r13d
      test $0x44, %r13d
      jnz 4f
      .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        movaps %xmm\n, \n * 64(%rsp)
      .endr
      jmp 5f
  4:  .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        vmovdqa64 %zmm\n, \n * 64(%rsp)
      .endr
  5:  .irp n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
        vmovdqa64 %zmm\n, \n * 64(%rsp)
      .endr
      .irp n, 0, 1, 2, 3, 4, 5, 6, 7
        kmovq %k\n, 2048 + \n * 8(%rsp)
      .endr
      stmxcsr 2112(%rsp)
      mov %rsp, %r12
      pushq $0x1f80
      ldmxcsr (%rsp)
      mov %r12, %rsp
      call musubi_atomics_serve
      ldmxcsr 2112(%rsp)
      .irp n, 0, 1, 2, 3, 4, 5, 6, 7
        kmovq 2048 + \n * 8(%rsp), %k\n
      .endr
      .irp n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
        vmovdqa64 \n * 64(%rsp), %zmm\n
      .endr
      test $0x44, %r13d
      jnz 6f
      vzeroupper
      .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        movaps \n * 64(%rsp), %xmm\n
      .endr
      jmp musubi_atomics_leave
  6:  .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        vmovdqa64 \n * 64(%rsp), %zmm\n
      .endr
  musubi_atomics_leave:
      mov %rbx, %rsp
      .irp register, rax, rcx, rdx, rbx
        pop %\register
      .endr
      lea 8(%rsp), %rsp
      .irp register, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
        pop %\register
      .endr
      popfq
      ret
  )");
}

const SharedRanges& attached_ranges() {
  return attachment.ranges;
}
bool is_attached() {
  return attachment.sink != nullptr;
}

bool add_traps(const TrapSite* traps, std::size_t count) {
  const std::size_t index = attachment.trap_tables.load();
  if (index == attachment.traps.size()) return false;
  attachment.traps[index] = {traps, count};
  attachment.trap_tables.store(index + 1);
  return true;
}

bool add_sites(const Site* sites, std::size_t count) {
  const std::size_t index = attachment.site_tables.load();
  if (index == attachment.sites.size()) return false;
  attachment.sites[index] = {sites, count};
  attachment.site_tables.store(index + 1);
  return true;
}

const Site* patched_site(std::uintptr_t address) noexcept {
  for (std::size_t i = attachment.site_tables.load(); i-- != 0;) {
    const Sites& table = attachment.sites[i];
    if (address < table.sites[0].address || address > table.sites[table.count - 1].address) continue;
    const Site* const end = table.sites + table.count;
    const Site* const site = std::lower_bound(table.sites, end, address,
                                              [](const Site& s, std::uintptr_t a) { return s.address < a; });
    if (site != end && site->address == address) return site;
  }
  return nullptr;
}

}  // namespace musubi::atomics::x86_64

namespace musubi::atomics {

Result<void> attach(AtomicSink& sink, const SharedRanges& ranges) {
  if (!x86_64::find_vector_state()) {
    return Error{
        "this processor or kernel lacks XSAVE, which patched atomics need; run without patching atomics"};
  }
  x86_64::attachment.sink = &sink;
  x86_64::attachment.ranges = ranges;
  return {};
}

bool serve_trap(const siginfo_t& information, ucontext_t& context) noexcept {
  auto& registers = context.uc_mcontext.gregs;
  // Positive codes come from the kernel, not from kill.
  if (information.si_code <= 0) return false;
  // The breakpoint is one byte long and has been executed.
  const auto* site = x86_64::find_trap(static_cast<std::uintptr_t>(registers[REG_RIP]) - 1);
  if (site == nullptr) return false;
  registers[REG_RIP] = static_cast<greg_t>(site->stub);
  return true;
}

}  // namespace musubi::atomics
