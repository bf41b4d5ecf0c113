// Code that gcc 12 generates for spin-waits, and for loops that resemble them.
#include "atomics/site.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace musubi::atomics {
namespace {

bool found_in(const std::vector<std::uint8_t>& loop) {
  constexpr std::size_t around = 16;
  std::vector<std::uint8_t> code(around + loop.size() + around, 0x90);
  for (std::size_t i = 0; i < loop.size(); ++i) code[around + i] = loop[i];
  return has_spin_loops(code.data(), code.size(), 0);
}

TEST(SpinLoops, AWaitForAGlobal) {
  // mov x(%rip),%eax; test %eax,%eax; je
  EXPECT_TRUE(found_in({0x8b, 0x05, 0x92, 0x31, 0, 0, 0x85, 0xc0, 0x74, 0xf6}));
}

TEST(SpinLoops, AWaitForAnyValueBehindAPointer) {
  // mov (%rdx),%eax; cmp %eax,%edi; jne
  EXPECT_TRUE(found_in({0x8b, 0x02, 0x39, 0xc7, 0x75, 0xfa}));
  // The same, with a pause.
  EXPECT_TRUE(found_in({0xf3, 0x90, 0x8b, 0x02, 0x39, 0xc7, 0x75, 0xf8}));
  // cmpl $0,(%rdx); je
  EXPECT_TRUE(found_in({0x83, 0x3a, 0x00, 0x74, 0xfb}));
}

TEST(SpinLoops, AWaitInCodeThatIsNotOptimised) {
  // mov -8(%rbp),%rax; mov (%rax),%eax; mov %eax,-16(%rbp); cmpl $0,-16(%rbp); je
  EXPECT_TRUE(
      found_in({0x48, 0x8b, 0x45, 0xf8, 0x8b, 0x00, 0x89, 0x45, 0xf0, 0x83, 0x7d, 0xf0, 0x00, 0x74, 0xf1}));
  // lea x(%rip),%rax; mov (%rax),%eax; nop; test %eax,%eax; sete %al; test %al,%al; jne
  EXPECT_TRUE(found_in({0x48, 0x8d, 0x05, 0xad, 0x2e, 0, 0, 0x8b, 0x00, 0x90, 0x85, 0xc0, 0x0f, 0x94, 0xc0,
                        0x84, 0xc0, 0x75, 0xed}));
}

TEST(SpinLoops, NoWaitIsASearch) {
  // add $1,%rax; cmpb $0,(%rax); jne: the length of a string
  EXPECT_FALSE(found_in({0x48, 0x83, 0xc0, 0x01, 0x80, 0x38, 0x00, 0x75, 0xf7}));
  // mov 8(%rax),%rax; test %rax,%rax; jne: the end of a list
  EXPECT_FALSE(found_in({0x48, 0x8b, 0x40, 0x08, 0x48, 0x85, 0xc0, 0x75, 0xf7}));
  // mov -8(%rbp),%rax; mov 8(%rax),%rax; mov %rax,-8(%rbp); cmpq $0,-8(%rbp); jne: not optimised
  EXPECT_FALSE(found_in({0x48, 0x8b, 0x45, 0xf8, 0x48, 0x8b, 0x40, 0x08, 0x48, 0x89, 0x45, 0xf8, 0x48, 0x83,
                         0x7d, 0xf8, 0x00, 0x75, 0xed}));
}

TEST(SpinLoops, NoWaitIsALoopThatWrites) {
  // mov (%rdx),%eax; mov %eax,(%rcx); test %eax,%eax; jne
  EXPECT_FALSE(found_in({0x8b, 0x02, 0x89, 0x01, 0x85, 0xc0, 0x75, 0xf8}));
}

TEST(SpinLoops, NoWaitIsCodeThatLeavesBeforeItJumpsBack) {
  // xor %eax,%eax; jmp out; mov (%rdx),%ecx; test %ecx,%ecx; jle: a branch back to other code
  EXPECT_FALSE(found_in({0x31, 0xc0, 0xeb, 0x0e, 0x8b, 0x0a, 0x85, 0xc9, 0x7e, 0xf6}));
  // mov (%rdx),%eax; test %eax,%eax; je next; jmp out; next: cmpl $0,(%rsi); je: not optimised
  EXPECT_TRUE(found_in({0x8b, 0x02, 0x85, 0xc0, 0x74, 0x02, 0xeb, 0x0e, 0x83, 0x3e, 0x00, 0x74, 0xf3}));
}

TEST(SpinLoops, NoWaitStoresThroughTheFramePointerAsAnyRegister) {
  // mov 8(%rbp),%eax; mov %eax,16(%rbp); test %eax,%eax; je
  EXPECT_FALSE(found_in({0x8b, 0x45, 0x08, 0x89, 0x45, 0x10, 0x85, 0xc0, 0x74, 0xf6}));
}

TEST(SpinLoops, NoWaitIsALoopWithoutALoad) {
  // cmpl $0,-8(%rbp); jne
  EXPECT_FALSE(found_in({0x83, 0x7d, 0xf8, 0x00, 0x75, 0xfa}));
}

// cmp -0x43(%rax),%ebx; js, found inside two instructions of a library: every program that loaded it kept
// order from its start.
TEST(SpinLoops, NoWaitBeginsInsideAnInstruction) {
  const std::vector<std::uint8_t> inside{0x3b, 0x58, 0xbd, 0x78, 0xfb};
  EXPECT_TRUE(found_in(inside));
  // mov $immediate,%eax, with the loop's first bytes as its immediate
  std::vector<std::uint8_t> code(64, 0x90);
  code[20] = 0xb8;
  std::ranges::copy(inside, code.begin() + 21);
  EXPECT_FALSE(has_spin_loops(code.data(), code.size(), 0));
  const std::uintptr_t address = 0x1000;
  const auto functions = [] { return std::vector<CodeRange>{{address + 21, 0}, {address + 40, 8}}; };
  EXPECT_TRUE(has_spin_loops(code.data(), code.size(), address, functions)) << "a function begins there";
}

TEST(SpinLoops, AnyBytesMayBeGiven) {
  std::vector<std::uint8_t> bytes(4096);
  std::uint32_t seed = 1;
  for (unsigned round = 0; round < 200; ++round) {
    for (std::uint8_t& byte : bytes)
      byte = static_cast<std::uint8_t>((seed = seed * 1664525 + 1013904223) >> 24);
    (void)has_spin_loops(bytes.data(), bytes.size(), 0);
  }
}

}  // namespace
}  // namespace musubi::atomics
