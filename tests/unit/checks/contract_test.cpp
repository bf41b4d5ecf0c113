// Page, table and entries at their fixed addresses, with all registers kept.
#include "checks/contract.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>

#include "checks/abi.h"

namespace musubi::checks {
namespace {

struct Call {
  char kind;
  std::uintptr_t begin;
  std::size_t bytes;
  friend bool operator==(const Call&, const Call&) = default;
};

class Sink final : public CheckSink {
 public:
  void before_reading(AddressRange range) noexcept override { note('r', range); }
  void before_writing(AddressRange range) noexcept override { note('w', range); }
  void before_storing(AddressRange range) noexcept override { note('s', range); }
  void before_overwriting(AddressRange range) noexcept override { note('o', range); }
  void after_writing(AddressRange range) noexcept override { note('a', range); }
  [[noreturn]] void on_unknown_entry(unsigned entry) noexcept override {
    ::_exit(static_cast<int>(100 + entry));
  }
  std::vector<Call> calls;

 private:
  // Spoils the registers that a C++ function may.
  void note(char kind, AddressRange range) {
    calls.push_back({kind, range.begin, range.bytes});
    errno = 77;
    asm volatile(
        "mov $-1, %%rax; mov %%rax, %%rcx; mov %%rax, %%rdx; mov %%rax, %%rsi; mov %%rax, %%rdi;"
        "mov %%rax, %%r8; mov %%rax, %%r9; mov %%rax, %%r10;"
        "pcmpeqd %%xmm0, %%xmm0; pcmpeqd %%xmm7, %%xmm7; pcmpeqd %%xmm15, %%xmm15" ::
            : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "xmm0", "xmm7", "xmm15");
  }
};

constexpr unsigned granule_shift = 10;

// The general registers, in the order of the assembly below, then two vectors.
struct Registers {
  std::array<std::uint64_t, 14> general;
  std::array<std::uint64_t, 2> xmm0, xmm15;
  friend bool operator==(const Registers&, const Registers&) = default;
};

// Calls entry `entry` with these registers; rdi and rsi are its arguments. Result: the registers after it.
Registers call_with(unsigned entry, const Registers& before) {
  Registers after{};
  const auto* const entries = reinterpret_cast<const std::uint64_t*>(std::uintptr_t{MUSUBI_CHECKS_PAGE});
  const struct {
    const void* from;
    void* to;
    std::uint64_t target;
  } arguments{&before, &after, entries[entry]};
  const void* in_rax = &arguments;
  asm volatile(R"(
      sub $256, %%rsp
      push %%rbx
      push %%rbp
      push 8(%%rax)
      push 16(%%rax)
      mov (%%rax), %%rax
      movups 112(%%rax), %%xmm0
      movups 128(%%rax), %%xmm15
      mov 8(%%rax), %%rbx
      mov 16(%%rax), %%rcx
      mov 24(%%rax), %%rdx
      mov 32(%%rax), %%rsi
      mov 40(%%rax), %%rdi
      mov 48(%%rax), %%rbp
      mov 56(%%rax), %%r8
      mov 64(%%rax), %%r9
      mov 72(%%rax), %%r10
      mov 80(%%rax), %%r12
      mov 88(%%rax), %%r13
      mov 96(%%rax), %%r14
      mov 104(%%rax), %%r15
      mov (%%rax), %%rax
      call *(%%rsp)
      mov 8(%%rsp), %%r11
      mov %%rax, (%%r11)
      mov %%rbx, 8(%%r11)
      mov %%rcx, 16(%%r11)
      mov %%rdx, 24(%%r11)
      mov %%rsi, 32(%%r11)
      mov %%rdi, 40(%%r11)
      mov %%rbp, 48(%%r11)
      mov %%r8, 56(%%r11)
      mov %%r9, 64(%%r11)
      mov %%r10, 72(%%r11)
      mov %%r12, 80(%%r11)
      mov %%r13, 88(%%r11)
      mov %%r14, 96(%%r11)
      mov %%r15, 104(%%r11)
      movups %%xmm0, 112(%%r11)
      movups %%xmm15, 128(%%r11)
      add $16, %%rsp
      pop %%rbp
      pop %%rbx
      add $256, %%rsp
  )"
               : "+a"(in_rax)
               :
               : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0",
                 "xmm15", "cc", "memory");
  return after;
}

class Contract : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const auto opened = open_contract(granule_shift);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
  }
  void SetUp() override { attach(sink_); }
  void TearDown() override { detach(); }
  Registers numbered() const {
    Registers registers{};
    for (std::size_t i = 0; i < registers.general.size(); ++i) registers.general[i] = 0x1000 + i;
    registers.xmm0 = {1, 2};
    registers.xmm15 = {3, 4};
    return registers;
  }
  Sink sink_;
};

TEST_F(Contract, ThePageTellsWhatItIs) {
  const auto* const page = reinterpret_cast<const std::byte*>(std::uintptr_t{MUSUBI_CHECKS_PAGE});
  std::uint64_t magic = 0;
  std::uint32_t abi = 0, shift = 0;
  std::memcpy(&magic, page + MUSUBI_CHECKS_PAGE_MAGIC, sizeof magic);
  std::memcpy(&abi, page + MUSUBI_CHECKS_PAGE_ABI, sizeof abi);
  std::memcpy(&shift, page + MUSUBI_CHECKS_PAGE_GRANULE_SHIFT, sizeof shift);
  EXPECT_EQ(magic, std::uint64_t{MUSUBI_CHECKS_MAGIC});
  EXPECT_EQ(abi, std::uint32_t{MUSUBI_CHECKS_ABI});
  EXPECT_EQ(shift, granule_shift);
}

TEST_F(Contract, TheTableAllowsAnyAddress) {
  const auto* const table = reinterpret_cast<const std::uint8_t*>(std::uintptr_t{MUSUBI_CHECKS_TABLE});
  int local = 0;
  for (const std::uintptr_t address : {std::uintptr_t{0}, reinterpret_cast<std::uintptr_t>(&local),
                                       (std::uintptr_t{1} << MUSUBI_CHECKS_ADDRESS_BITS) - 1})
    EXPECT_EQ(table[address >> granule_shift], 0);
}

TEST_F(Contract, AnEntryKeepsRegistersAndErrno) {
  const Registers before = numbered();
  constexpr std::size_t rsi = 4, rdi = 5;
  const std::uintptr_t address = before.general[rdi];
  const std::size_t bytes = before.general[rsi];
  for (const unsigned entry : {0u, 1u, 2u, 3u, 4u, 5u, 6u}) {
    errno = 5;
    const Registers after = call_with(entry, before);
    EXPECT_EQ(errno, 5);
    EXPECT_EQ(after, before) << entry;
  }
  EXPECT_EQ(sink_.calls, (std::vector<Call>{{'r', address, 1},
                                            {'w', address, 1},
                                            {'r', address, bytes},
                                            {'w', address, bytes},
                                            {'o', address, bytes},
                                            {'a', address, bytes},
                                            {'s', address, 1}}));
}

TEST_F(Contract, WithoutASinkAndInAChildEntriesReturn) {
  const pid_t child = ::fork();
  if (child == 0) {
    const Registers before = numbered();
    ::_exit(call_with(MUSUBI_CHECKS_ENTRY_READ, before) == before && sink_.calls.empty() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  detach();
  call_with(MUSUBI_CHECKS_ENTRY_WRITE, numbered());
  EXPECT_TRUE(sink_.calls.empty());
}

TEST_F(Contract, AnEntryWithoutANameEndsTheProgram) {
  for (const unsigned entry : {7u, MUSUBI_CHECKS_ENTRIES - 1u}) {
    const pid_t child = ::fork();
    if (child == 0) {
      attach(sink_);
      call_with(entry, numbered());
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), static_cast<int>(100 + entry));
  }
}

TEST_F(Contract, AnotherOneTakesOverThePageOfTheSameGranule) {
  EXPECT_TRUE(open_contract(granule_shift).ok());
  const auto other = open_contract(granule_shift + 1);
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().message.find("in use"), std::string::npos);
}

}  // namespace
}  // namespace musubi::checks
