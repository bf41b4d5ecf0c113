// What is read from the instruction of a store that faulted.
#include "atomics/store.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

namespace musubi::atomics {
namespace {

std::size_t bytes_of(std::vector<std::uint8_t> code) {
  code.resize(16, 0x90);
  return store_bytes(code.data());
}

TEST(Store, ScalarsTellTheirWidth) {
  EXPECT_EQ(bytes_of({0x88, 0x07}), 1u);                    // mov %al,(%rdi)
  EXPECT_EQ(bytes_of({0xc6, 0x04, 0x0f, 0x01}), 1u);        // movb $1,(%rdi,%rcx)
  EXPECT_EQ(bytes_of({0x0f, 0x94, 0x07}), 1u);              // sete (%rdi)
  EXPECT_EQ(bytes_of({0x66, 0x89, 0x07}), 2u);              // mov %ax,(%rdi)
  EXPECT_EQ(bytes_of({0x89, 0x07}), 4u);                    // mov %eax,(%rdi)
  EXPECT_EQ(bytes_of({0xc7, 0x07, 1, 0, 0, 0}), 4u);        // movl $1,(%rdi)
  EXPECT_EQ(bytes_of({0x83, 0x07, 0x01}), 4u);              // addl $1,(%rdi)
  EXPECT_EQ(bytes_of({0x48, 0x89, 0x07}), 8u);              // mov %rax,(%rdi)
  EXPECT_EQ(bytes_of({0x48, 0xc7, 0x07, 1, 0, 0, 0}), 8u);  // movq $1,(%rdi)
  EXPECT_EQ(bytes_of({0xf3, 0x0f, 0x11, 0x07}), 4u);        // movss %xmm0,(%rdi)
  EXPECT_EQ(bytes_of({0xf2, 0x0f, 0x11, 0x07}), 8u);        // movsd %xmm0,(%rdi)
  EXPECT_EQ(bytes_of({0xc5, 0xfb, 0x11, 0x07}), 8u);        // vmovsd %xmm0,(%rdi)
  EXPECT_EQ(bytes_of({0xdd, 0x1f}), 8u);                    // fstpl (%rdi)
}

TEST(Store, OthersDoNot) {
  EXPECT_EQ(bytes_of({0x0f, 0x11, 0x07}), 0u);        // movups %xmm0,(%rdi)
  EXPECT_EQ(bytes_of({0xc5, 0xfd, 0x7f, 0x07}), 0u);  // vmovdqa %ymm0,(%rdi)
  EXPECT_EQ(bytes_of({0x66, 0x0f, 0xd6, 0x07}), 0u);  // movq %xmm0,(%rdi): eight chars of a loop's rest
  EXPECT_EQ(bytes_of({0x66, 0x0f, 0x7e, 0x07}), 0u);  // movd %xmm0,(%rdi)
  EXPECT_EQ(bytes_of({0xf3, 0xab}), 0u);              // rep stos
  EXPECT_EQ(bytes_of({0xf3, 0xa4}), 0u);              // rep movsb
  EXPECT_EQ(bytes_of({0xf0, 0x83, 0x0f, 0x00}), 0u);  // lock orl $0,(%rdi)
  EXPECT_EQ(bytes_of({0x87, 0x07}), 0u);              // xchg %eax,(%rdi)
  EXPECT_EQ(bytes_of({0x8b, 0x07}), 0u);              // mov (%rdi),%eax: a load
  EXPECT_EQ(bytes_of({0x39, 0x07}), 0u);              // cmp %eax,(%rdi)
  EXPECT_EQ(bytes_of({0x50}), 0u);                    // push %rax
  EXPECT_EQ(bytes_of({0x06}), 0u);                    // no instruction
}

}  // namespace
}  // namespace musubi::atomics
