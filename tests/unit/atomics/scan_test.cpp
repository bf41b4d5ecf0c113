// Finds all sites in arbitrary bytes, and memory near them.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>

#include "atomics/near_memory.h"
#include "atomics/ranges.h"
#include "atomics/site.h"
#include "base/random.h"

namespace musubi::atomics {
namespace {

Scan scan(const std::vector<std::uint8_t>& code) {
  return find_sites(code.data(), code.size(), 0x1000);
}

TEST(AtomicsScan, TellsLockedInstructionsFromOthers) {
  const Scan result = scan({
      0x55,                                         // 0: push
      0xf0, 0xff, 0x00,                             // 1: lock incl (%rax)
      0x87, 0xc1,                                   // 4: xchg %eax, %ecx
      0x87, 0x01,                                   // 6: xchg %eax, (%rcx)
      0x01, 0x01,                                   // 8: add %eax, (%rcx)
      0x48, 0xb8, 0xf0, 0xff, 0,    0, 0, 0, 0, 0,  // 10: movabs: its data looks like a lock
      0xf0, 0x48, 0x0f, 0xb1, 0x11,                 // 20: lock cmpxchg %rdx, (%rcx)
      0x65, 0xf0, 0xff, 0x00,                       // 25: lock incl %gs:(%rax)
      0xc3,                                         // 29: ret
  });
  ASSERT_EQ(result.sites.size(), 3u);
  EXPECT_EQ(result.sites[0].address, 0x1001u);
  EXPECT_EQ(result.sites[0].bytes, 3u);
  EXPECT_EQ(result.sites[1].address, 0x1006u);
  EXPECT_EQ(result.sites[2].address, 0x1014u);
  EXPECT_EQ(result.sites[2].bytes, 5u);
  EXPECT_EQ(result.unsupported, 1u);
  EXPECT_EQ(result.instructions, 9u);
}

TEST(AtomicsScan, KnowsFences) {
  const Scan result = scan({
      0xf0, 0x48, 0x83, 0x0c, 0x24, 0x00,  // lock orq $0, (%rsp)
      0xf0, 0x83, 0x4c, 0x24, 0xc0, 0x00,  // lock orl $0, -64(%rsp)
      0x0f, 0xae, 0xf0,                    // mfence
      0xf0, 0x83, 0x4c, 0x24, 0xc0, 0x01,  // lock orl $1, -64(%rsp): an atomic on the stack
      0xf0, 0x83, 0x08, 0x00,  // lock orl $0, (%rax): not on the stack: a fence, or an atomic load
      0x0f, 0xae, 0xe8,        // lfence
  });
  ASSERT_EQ(result.sites.size(), 5u);
  const SiteKind fence = SiteKind::fence, atomic = SiteKind::read_modify_write;
  const SiteKind expected[] = {fence, fence, fence, atomic, atomic};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(result.sites[i].kind, expected[i]) << i;
}

TEST(AtomicsScan, SeesJumpsOverThePrefix) {
  const Scan result = scan({
      0x74, 0x01, 0xf0, 0x0f, 0xb1, 0x91, 0, 0, 0, 0,  // je 1f; lock; 1: cmpxchg
      0x74, 0x02, 0xf0, 0x0f, 0xb1, 0x91, 0, 0, 0, 0,
  });
  ASSERT_EQ(result.sites.size(), 2u);
  EXPECT_TRUE(result.sites[0].entered_inside);
  EXPECT_FALSE(result.sites[1].entered_inside);
}

TEST(AtomicsScan, JoinsPaddingUpToTheNextAlignedAddress) {
  const Scan result = scan({
      0xc3,                                         // 0
      0x0f, 0x1f, 0x40, 0x00,                       // 1: nopl
      0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0,  // 5: nopw
      0x90,                                         // 15: a single byte may be an instruction of its own
      0x0f, 0x1f, 0x44, 0x00, 0x00,                 // 16: nopl, the start of a traced function
      0xc3,                                         // 21
  });
  ASSERT_EQ(result.padding.size(), 2u);
  EXPECT_EQ(result.padding[0].begin, 0x1001u);
  EXPECT_EQ(result.padding[0].bytes, 14u);
  EXPECT_EQ(result.padding[1].begin, 0x1010u);
  EXPECT_EQ(result.padding[1].bytes, 5u);
}

TEST(AtomicsScan, LeavesAloneWhatLiesBetweenData) {
  std::vector<std::uint8_t> code(2000, 0x90);
  auto put_lock = [&code](std::size_t at) { std::memcpy(&code[at], "\xf0\xff\x00", 3); };
  put_lock(100);
  put_lock(900);
  put_lock(1100);
  put_lock(1900);
  code[1000] = 0x06;  // no instruction in 64-bit mode
  const Scan result = scan(code);
  ASSERT_EQ(result.sites.size(), 2u);
  EXPECT_EQ(result.sites[0].address, 0x1000u + 100);
  EXPECT_EQ(result.sites[1].address, 0x1000u + 1900);
  EXPECT_EQ(result.doubtful, 2u);
  EXPECT_EQ(result.undecodable_bytes, 1u);
}

TEST(AtomicsScan, StandsAnyBytes) {
  Random random(7);
  std::vector<std::uint8_t> bytes(1 << 20);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random.next());
  const Scan result = scan(bytes);
  EXPECT_GT(result.undecodable_bytes, 0u);
  for (const Site& site : result.sites) ASSERT_LE(site.address + site.bytes, 0x1000 + bytes.size());
}

std::string file_of_standard_library() {
  Dl_info info;
  void* known = ::dlsym(RTLD_DEFAULT, "_ZSt9terminatev");
  return known != nullptr && ::dladdr(known, &info) != 0 ? info.dli_fname : "";
}

// A function, a table that looks like another function, and a caller far away.
class NearData : public ::testing::Test {
 protected:
  static constexpr std::size_t function = 0, table = 16, caller = 1024;

  NearData() : code_(2048, 0x90) {
    put(function,
        {0xf0, 0x48, 0xff, 0x07, 0x74, 0x02, 0xeb, 0x01, 0x06, 0xc3});  // lock incq, je, jmp, data, ret
    put(table, {0x06, 0xf0, 0x48, 0xff, 0x07, 0xc3, 0x06});
  }
  void put(std::size_t at, std::initializer_list<std::uint8_t> bytes) {
    std::ranges::copy(bytes, code_.begin() + static_cast<std::ptrdiff_t>(at));
  }
  Scan look(std::vector<CodeRange> functions) const {
    return find_sites(code_.data(), code_.size(), 0x1000, [functions] { return functions; });
  }

  std::vector<std::uint8_t> code_;
};

TEST_F(NearData, NothingLeadsThere) {
  const Scan result = look({});
  EXPECT_TRUE(result.sites.empty());
  EXPECT_EQ(result.doubtful, 2u);
  EXPECT_EQ(result.undecided, 2u);
}

TEST_F(NearData, AFunctionIsKnown) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{10}}) {
    const Scan result = look({{0x1000 + function, bytes}});
    ASSERT_EQ(result.sites.size(), 1u) << bytes;
    EXPECT_EQ(result.sites[0].address, 0x1000 + function);
    EXPECT_EQ(result.doubtful, 1u);
    EXPECT_EQ(result.undecided, 0u);
  }
}

TEST_F(NearData, ABranchLeadsThere) {
  const auto distance = static_cast<std::uint32_t>(function - (caller + 5));
  std::uint8_t bytes[4];
  std::memcpy(bytes, &distance, sizeof bytes);
  for (const std::uint8_t opcode : {0xe8, 0xe9}) {
    put(caller, {opcode, bytes[0], bytes[1], bytes[2], bytes[3]});
    const Scan result = look({});
    ASSERT_EQ(result.sites.size(), 1u);
    EXPECT_EQ(result.sites[0].address, 0x1000 + function);
  }
}

// A jump by a table leads to the bytes after it, which decode; no branch does.
TEST_F(NearData, AllOfAFunctionThatDecodesIsCode) {
  put(64, {0xff, 0xe0, 0xf0, 0xff, 0x00, 0xc3});  // jmp *%rax, lock incl (%rax), ret
  EXPECT_EQ(look({{0x1000 + 64, 6}}).sites.size(), 1u);
  EXPECT_EQ(look({{0x1000 + 64, 0}}).sites.size(), 0u);
}

TEST(AtomicsScan, ReadsARealLibraryAsData) {
  std::ifstream file(file_of_standard_library(), std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  ASSERT_GT(bytes.size(), 100000u);
  const auto start = std::chrono::steady_clock::now();
  const Scan result = find_sites(bytes.data(), bytes.size(), 0);
  const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
  EXPECT_GT(result.sites.size(), 100u);
  std::printf("%zu sites in %zu instructions, %.1f ms\n", result.sites.size(), result.instructions,
              taken.count());
}

int find_library(dl_phdr_info* info, std::size_t, void* context) {
  if (info->dlpi_name == nullptr || std::strstr(info->dlpi_name, "libstdc++") == nullptr) return 0;
  *static_cast<dl_phdr_info*>(context) = *info;
  return 1;
}

TEST(AtomicsScan, TakesTheCodeOfALoadedObject) {
  dl_phdr_info library{};
  ASSERT_EQ(::dl_iterate_phdr(find_library, &library), 1);
  Result<std::vector<CodeRange>> ranges = code_of_object(library, library.dlpi_name);
  ASSERT_TRUE(ranges.ok());
  const auto known = reinterpret_cast<std::uintptr_t>(::dlsym(RTLD_DEFAULT, "_ZSt9terminatev"));
  const auto holds = [known](CodeRange range) { return known - range.begin < range.bytes; };
  EXPECT_TRUE(std::any_of(ranges.value().begin(), ranges.value().end(), holds));
  const Scan result = find_sites(ranges.value());
  EXPECT_GT(result.sites.size(), 100u);
  EXPECT_LT(result.undecodable_bytes * 1000, result.instructions);
}

__attribute__((noinline)) long atomic_of_this_program(long* word) {
  return __atomic_fetch_add(word, 1, __ATOMIC_SEQ_CST);
}

TEST(AtomicsScan, FindsTheProgramItself) {
  long word = 0;
  atomic_of_this_program(&word);
  Result<std::vector<CodeRange>> ranges = code_of_program();
  ASSERT_TRUE(ranges.ok());
  const Scan result = find_sites(ranges.value());
  const auto function = reinterpret_cast<std::uintptr_t>(&atomic_of_this_program);
  const auto inside = [function](const Site& site) { return site.address - function < 64; };
  EXPECT_TRUE(std::any_of(result.sites.begin(), result.sites.end(), inside));
}

TEST(AtomicsScan, SaysWhichFileItCannotRead) {
  Result<std::vector<CodeRange>> ranges = code_of_object({}, "/nonexistent/program");
  ASSERT_FALSE(ranges.ok());
  EXPECT_NE(ranges.error().message.find("/nonexistent/program"), std::string::npos);
}

TEST(AtomicsRanges, JoinAndFilterCoverAll) {
  std::vector<AddressInterval> ranges;
  for (std::uintptr_t i = 0; i < 10; ++i)
    ranges.push_back({0x10000 * (i * i + 1), 0x10000 * (i * i + 1) + 0x1000});
  ranges.push_back({0x11000, 0x12000});
  ranges.push_back({5, 5});
  std::reverse(ranges.begin(), ranges.end());
  Result<SharedRanges> made = SharedRanges::make(ranges);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made.value().all().size(), 10u);
  ASSERT_EQ(made.value().filter().size(), SharedRanges::filter_count_max);
  for (const AddressInterval& range : made.value().all()) {
    const auto covers = [range](AddressInterval f) { return f.begin <= range.begin && range.end <= f.end; };
    EXPECT_TRUE(std::any_of(made.value().filter().begin(), made.value().filter().end(), covers));
  }
  EXPECT_TRUE(made.value().contains(0x11fff));
  EXPECT_FALSE(made.value().contains(0x12000));
  EXPECT_FALSE(made.value().contains(5));
  EXPECT_TRUE(made.value().overlaps({0xffff, 0x10001}));
  EXPECT_FALSE(made.value().overlaps({0xf000, 0x10000}));
}

TEST(AtomicsNearMemory, LiesInReachAndOutsideOfWhatIsReserved) {
  const auto code = reinterpret_cast<std::uintptr_t>(&atomic_of_this_program);
  constexpr std::size_t reach = std::size_t{1} << 31;
  FreeMemory free{SharedRanges{}};
  const AddressInterval around{code, code + 64};
  Result<std::uint8_t*> first = free.map_near(around, 100000, reach);
  ASSERT_TRUE(first.ok()) << first.error().message;
  std::memset(first.value(), 1, 100000);
  const auto begin = reinterpret_cast<std::uintptr_t>(first.value());
  EXPECT_LT(begin < code ? code - begin : begin - code, reach);
  const AddressInterval reserved[] = {{begin - 0x100000, begin}};
  FreeMemory rest(SharedRanges::make(reserved).value());
  Result<std::uint8_t*> second = rest.map_near(around, 100000, reach);
  ASSERT_TRUE(second.ok()) << second.error().message;
  const auto other = reinterpret_cast<std::uintptr_t>(second.value());
  EXPECT_TRUE(other + 100000 <= reserved[0].begin || other >= reserved[0].end);
  EXPECT_FALSE(rest.map_near(around, std::size_t{1} << 40, reach).ok());
  // Memory mapped by other code since `free` was created counts as taken, and the search goes on.
  Result<std::uint8_t*> third = free.map_near(around, 100000, reach);
  ASSERT_TRUE(third.ok()) << third.error().message;
  EXPECT_NE(third.value(), second.value());
}

TEST(AtomicsNearMemory, WhatIsTakenIsNoGap) {
  FreeMemory free{SharedRanges{}};
  const std::vector<AddressInterval> before = free.gaps();
  ASSERT_GT(before.size(), 2u);
  const AddressInterval gap = before[before.size() / 2];
  const auto free_at = [&](std::uintptr_t at) {
    return std::ranges::any_of(free.gaps(),
                               [at](AddressInterval one) { return one.begin <= at && at < one.end; });
  };
  ASSERT_GE(gap.end - gap.begin, 4096u);
  free.take({gap.begin + 1, gap.begin + 2});
  EXPECT_FALSE(free_at(gap.begin));
  if (gap.end - gap.begin > 4096) {
    EXPECT_TRUE(free_at(gap.begin + 4096));
    free.take({gap.begin, gap.end - 1});
    EXPECT_FALSE(free_at(gap.end - 1));
  }
  free.take({before.front().begin, before.back().end});
  EXPECT_TRUE(free.gaps().empty());
}

}  // namespace
}  // namespace musubi::atomics
