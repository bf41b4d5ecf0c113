// The bytes are the assembler's.
#include "os/instruction.h"

#include <gtest/gtest.h>

namespace musubi::os {
namespace {

#if defined(__x86_64__)

struct Encoded {
  const char* text;
  const unsigned char* code;
};

#define MUSUBI_ENCODED(text)                                                                         \
  ([]() -> Encoded {                                                                                 \
    const unsigned char* code = nullptr;                                                             \
    asm(".pushsection .rodata\n6: " text "\n.popsection\nlea 6b(%%rip), %0" : "=r"(code));           \
    return {text, code};                                                                             \
  }())

TEST(Instruction, LooksAtWordsMayWait) {
  const Encoded looks[] = {
      MUSUBI_ENCODED("mov (%%rax), %%eax"),        MUSUBI_ENCODED("mov 8(%%r9), %%r10"),
      MUSUBI_ENCODED("movzbl (%%rdi), %%eax"),     MUSUBI_ENCODED("movswq (%%r8,%%r9,2), %%r11"),
      MUSUBI_ENCODED("cmpl $0, (%%rbx)"),          MUSUBI_ENCODED("testb $1, (%%rcx)"),
      MUSUBI_ENCODED("cmpw $7, %%fs:(%%rdx)"),     MUSUBI_ENCODED("bt $3, (%%rax)"),
      MUSUBI_ENCODED("cmovne (%%rsi), %%rdi"),     MUSUBI_ENCODED("movbe (%%rax), %%ecx"),
      MUSUBI_ENCODED("popcnt (%%rax), %%rcx"),     MUSUBI_ENCODED("add (%%r15), %%r14"),
      MUSUBI_ENCODED("mov (%%rax), %%al"),         MUSUBI_ENCODED("imul (%%rax), %%rdx"),
      MUSUBI_ENCODED("call *(%%rax)"),             MUSUBI_ENCODED("repe cmpsb"),
  };
  for (const Encoded& look : looks) EXPECT_FALSE(moves_numbers(look.code)) << look.text;
}

TEST(Instruction, NumbersVectorsAndCopiesDoNotWait) {
  const Encoded moves[] = {
      MUSUBI_ENCODED("movsd (%%rax), %%xmm0"),           MUSUBI_ENCODED("movss (%%r9), %%xmm9"),
      MUSUBI_ENCODED("movapd (%%rdi), %%xmm1"),          MUSUBI_ENCODED("movupd 16(%%r8), %%xmm15"),
      MUSUBI_ENCODED("movhpd (%%rax), %%xmm2"),          MUSUBI_ENCODED("addsd (%%rbx), %%xmm3"),
      MUSUBI_ENCODED("mulpd (%%rcx), %%xmm4"),           MUSUBI_ENCODED("cvtsi2sdl (%%rax), %%xmm5"),
      MUSUBI_ENCODED("ucomisd (%%rax), %%xmm6"),         MUSUBI_ENCODED("movdqu (%%rax), %%xmm7"),
      MUSUBI_ENCODED("pshufb (%%rax), %%xmm1"),          MUSUBI_ENCODED("roundsd $1, (%%rax), %%xmm1"),
      MUSUBI_ENCODED("vmovsd (%%rax), %%xmm0"),          MUSUBI_ENCODED("vfmadd231pd (%%r9), %%ymm1, %%ymm2"),
      MUSUBI_ENCODED("vmovupd (%%rax), %%ymm3"),         MUSUBI_ENCODED("vmovupd (%%rax), %%zmm17"),
      MUSUBI_ENCODED("fldl (%%rax)"),                    MUSUBI_ENCODED("fldt (%%rsp)"),
      MUSUBI_ENCODED("rep movsb"),                       MUSUBI_ENCODED("rep movsq"),
  };
  for (const Encoded& move : moves) EXPECT_TRUE(moves_numbers(move.code)) << move.text;
}

#endif

}  // namespace
}  // namespace musubi::os
