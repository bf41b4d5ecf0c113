// The budget of kernel mappings, on real pages: more alternating blocks than the kernel allows mappings.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "vm/signal/alternate_stack.h"
#include "vm/signal/fault_handler.h"
#include "vm/sigsegv/sigsegv_vm.h"

namespace musubi::vm {
namespace {

constexpr std::size_t page = 4096;

Segment make_segment(const char* name, std::uintptr_t base, std::size_t bytes, std::size_t block_bytes) {
  Segment segment;
  segment.name = name;
  segment.base = base;
  segment.bytes = bytes;
  segment.block_bytes = block_bytes;
  return segment;
}

std::size_t lines_of_maps(std::uintptr_t begin, std::uintptr_t end) {
  std::size_t count = 0;
  std::FILE* file = std::fopen("/proc/self/maps", "r");
  for (unsigned long low, high; std::fscanf(file, "%lx-%lx%*[^\n]\n", &low, &high) == 2;) {
    count += low >= begin && high <= end;
  }
  std::fclose(file);
  return count;
}

// Whether the kernel was asked for huge pages at `address`.
bool asked_for_huge_pages(std::uintptr_t address) {
  std::FILE* file = std::fopen("/proc/self/smaps", "r");
  bool inside = false, asked = false;
  char line[1024];
  while (std::fgets(line, sizeof line, file) != nullptr) {
    unsigned long low = 0, high = 0;
    if (std::sscanf(line, "%lx-%lx ", &low, &high) == 2) inside = low <= address && address < high;
    if (inside && std::strncmp(line, "VmFlags:", 8) == 0) asked = std::strstr(line, " hg") != nullptr;
  }
  std::fclose(file);
  return asked;
}

// Opens every block on demand, unless it must refuse.
class Machine final : public FaultSink {
 public:
  Machine(const Space& machine_space, std::size_t mappings_max) : space(machine_space), handler(Rank{0}) {
    const int memory = ::memfd_create("vm test", MFD_CLOEXEC);
    MUSUBI_CHECK(::ftruncate(memory, static_cast<off_t>(space.bytes())) == 0);
    vm = SigsegvVm::create(space, memory, *this, {mappings_max}, counters).value();
    ::close(memory);
    MUSUBI_CHECK(stack.install().ok());
    handler.install();
    handler.add_owner(SIGSEGV, *vm);
  }
  bool on_fault(const Fault& fault) noexcept override {
    const auto [block, wanted] = std::pair(fault.block, fault.wanted);
    faults.fetch_add(1);
    if (wanted == Access::read) {
      vm->open_read({block});
    } else {
      vm->open_write({block});
    }
    return true;
  }
  volatile char& byte(std::uint64_t block) const {
    return *reinterpret_cast<volatile char*>(space.extent(BlockId{block}).address);
  }

  Space space;
  trace::Counters counters;
  AlternateStack stack;
  FaultHandler handler;
  std::unique_ptr<SigsegvVm> vm;
  std::atomic<int> faults{0};
};

void open_alternating_blocks(std::uint64_t open_blocks, std::size_t mappings_max) {
  const std::uintptr_t base = 0x510000000000;
  Space space(1);
  space.add(make_segment("heap", base, 2 * open_blocks * page, page));
  Machine machine(space, mappings_max);
  ASSERT_TRUE(machine.vm->map_segment(0, Placement::fresh).ok());
  for (std::uint64_t i = 0; i < open_blocks; ++i) {
    machine.vm->open_write({BlockId{2 * i}});
    machine.vm->system_view()[2 * i * page] = std::byte{static_cast<unsigned char>(i)};
  }
  // Every block that the engine opened serves the program, without a call to the engine.
  for (std::uint64_t i = 0; i < open_blocks; ++i) {
    ASSERT_EQ(machine.byte(2 * i), static_cast<char>(i));
    machine.byte(2 * i) = 5;
  }
  EXPECT_EQ(machine.faults, 0);
  EXPECT_GT(machine.vm->reopened(), 0u);
  EXPECT_LT(machine.vm->mappings(), 66'000u) << "the kernel allows 65,530";
  // And every closed one is closed.
  for (std::uint64_t i = 0; i < open_blocks; i += 97) machine.vm->close({BlockId{2 * i}});
  for (std::uint64_t i = 0; i < open_blocks; i += 97) machine.byte(2 * i) = 6;
  EXPECT_EQ(machine.faults, static_cast<int>((open_blocks + 96) / 97));
  if (mappings_max != 0) return;
  const std::size_t real = lines_of_maps(base, base + 2 * open_blocks * page);
  EXPECT_LE(real + 1, machine.vm->mappings() + 1);
  EXPECT_GE(real + 2, machine.vm->mappings());
}

TEST(Mappings, SeventyThousandAlternatingBlocksWithinTheBudget) {
  open_alternating_blocks(70'000, 0);
}

TEST(Mappings, SeventyThousandAlternatingBlocksWhenTheKernelSaysNo) {
  open_alternating_blocks(70'000, 1'000'000);
}

TEST(Mappings, ATinyBudget) {
  open_alternating_blocks(3'000, 10);
}

TEST(Mappings, WholeGroupsThatAlternateStayWithinTheBudget) {
  const std::uintptr_t base = 0x510000000000;
  constexpr std::uint64_t groups = 200;
  constexpr std::uint64_t group = 64;
  Space space(1);
  space.add(make_segment("heap", base, groups * group * page, page));
  Machine machine(space, 32);
  ASSERT_TRUE(machine.vm->map_segment(0, Placement::fresh).ok());
  for (std::uint64_t i = 0; i < groups; i += 2) {
    machine.vm->open_write({BlockId{i * group}, group});
    ASSERT_LE(lines_of_maps(base, base + groups * group * page), 34u);
  }
  for (std::uint64_t i = 0; i < groups * group; ++i) {
    if (i / group % 2 == 0) machine.byte(i) = 1;
  }
  EXPECT_EQ(machine.faults, 0);
  EXPECT_LE(machine.vm->reopened(), groups / 2) << "a group that was closed as a whole opens as a whole";
}

TEST(Mappings, HugeSparseSegmentsCostNothing) {
  Space space(1);
  space.add(make_segment("one", 0x200000000000, std::size_t{1} << 40, 32768));
  space.add(make_segment("two", 0x400000000000, std::size_t{1} << 38, page));
  Machine machine(space, 0);
  ASSERT_TRUE(machine.vm->map_segment(0, Placement::fresh).ok());
  ASSERT_TRUE(machine.vm->map_segment(1, Placement::fresh).ok());
  for (const Segment& segment : space.segments()) {
    for (int i = 0; i < 100; ++i) {
      *reinterpret_cast<volatile char*>(segment.base + segment.bytes / 100 * static_cast<std::size_t>(i)) = 1;
    }
  }
  EXPECT_EQ(machine.faults, 200);
  EXPECT_EQ(machine.vm->mappings(), 3u + 2 * 200 - 2) << "the first block of a segment has one border";
}

TEST(Mappings, ASegmentThatIsLeftOpenIsNotWatchedWhateverItsSize) {
  Space space(1);
  space.add(make_segment("heap", 0x200000000000, std::size_t{1} << 40, page));
  Machine machine(space, 0);
  ASSERT_TRUE(machine.vm->map_segment(0, Placement::fresh).ok());
  rusage before{}, after{};
  ::getrusage(RUSAGE_SELF, &before);
  ASSERT_TRUE(machine.vm->leave_segment_open(0, Backing::own).ok());
  ::getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_minflt - before.ru_minflt, 100) << "a table of its blocks would have 65,536 pages";
  machine.byte(0) = 1;
  machine.byte(space.blocks() - 1) = 2;
  EXPECT_EQ(machine.vm->system_view()[space.bytes() - page], std::byte{0}) << "it is memory of the process";
  EXPECT_EQ(machine.faults, 0);
}

TEST(Mappings, ASegmentThatIsLeftOpenMayShowTheMemoryFile) {
  Space space(1);
  space.add(make_segment("heap", 0x200000000000, 16 * page, page));
  Machine machine(space, 0);
  machine.vm->system_view()[3 * page] = std::byte{7};
  ASSERT_TRUE(machine.vm->map_segment(0, Placement::fresh).ok());
  ASSERT_TRUE(machine.vm->leave_segment_open(0, Backing::memory_file).ok());
  EXPECT_EQ(machine.byte(3), 7) << "the old bytes stay";
  machine.byte(4) = 8;
  EXPECT_EQ(machine.vm->system_view()[4 * page], std::byte{8}) << "all that map the file see it";
  EXPECT_EQ(machine.faults, 0);
}

TEST(Mappings, OnlyDenseSegmentsAskForHugePages) {
  if (::access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0) GTEST_SKIP() << "this kernel has none";
  Space space(1);
  Segment dense = make_segment("dense", 0x510000000000, 64 * page, page);
  dense.huge_pages = true;
  space.add(dense);
  space.add(make_segment("sparse", 0x520000000000, 64 * page, page));
  Machine machine(space, 0);
  for (std::size_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(machine.vm->map_segment(i, Placement::fresh).ok());
    const auto view = reinterpret_cast<std::uintptr_t>(machine.vm->system_view());
    EXPECT_EQ(asked_for_huge_pages(view + space.segments()[i].offset), i == 0);
    EXPECT_EQ(asked_for_huge_pages(space.segments()[i].base), i == 0);
  }
}

TEST(Mappings, SegmentsMayReplaceWhatStandsThereOrRefuseTo) {
  auto* const standing = static_cast<char*>(
      ::mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  standing[0] = 42;
  Space space(1);
  space.add(make_segment("globals", reinterpret_cast<std::uintptr_t>(standing), 4 * page, page));
  Machine machine(space, 0);
  const Result<void> refused = machine.vm->map_segment(0, Placement::fresh);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("cannot map segment globals"), std::string::npos);
  machine.vm->system_view()[0] = std::byte{42};
  ASSERT_TRUE(machine.vm->map_segment(0, Placement::replace).ok());
  EXPECT_EQ(machine.byte(0), 42);
  EXPECT_EQ(machine.faults, 1);
}

TEST(Mappings, AShortMemoryFileIsRefused) {
  Space space(1);
  space.add(make_segment("heap", 0x510000000000, 4 * page, page));
  const int memory = ::memfd_create("short", MFD_CLOEXEC);
  struct NoSink final : FaultSink {
    bool on_fault(const Fault&) noexcept override { return false; }
  } sink;
  trace::Counters counters;
  EXPECT_FALSE(SigsegvVm::create(space, memory, sink, {}, counters).ok());
  ::close(memory);
}

TEST(Mappings, EachCallIsCounted) {
  Space space(1);
  space.add(make_segment("heap", 0x510000000000, 100 * page, page));
  Machine machine(space, 0);
  ASSERT_TRUE(machine.vm->map_segment(0, Placement::fresh).ok());
  machine.vm->open_read({BlockId{3}, 50});
  machine.vm->upgrade({BlockId{10}, 20});
  machine.vm->close({BlockId{3}, 50});
  EXPECT_EQ(machine.counters.get(trace::Counter::protection_changes), 3u);
}

// Threads fault on their own blocks, whose neighbours in the group belong to other threads, with far too few
// mappings: groups close under the threads all the time.
TEST(Mappings, ThreadsShareGroupsUnderATinyBudget) {
  constexpr int threads = 3;
  constexpr std::uint64_t blocks = 300;
  Space space(1);
  space.add(make_segment("heap", 0x510000000000, blocks * page, page));
  Machine machine(space, 12);
  ASSERT_TRUE(machine.vm->map_segment(0, Placement::fresh).ok());
  std::vector<std::thread> running;
  std::atomic<int> wrong{0};
  for (int me = 0; me < threads; ++me) {
    running.emplace_back([&, me] {
      AlternateStack stack;
      MUSUBI_CHECK(stack.install().ok());
      for (char round = 1; round <= 20; ++round) {
        for (std::uint64_t i = static_cast<std::uint64_t>(me); i < blocks; i += threads) {
          machine.byte(i) = round;
          if (machine.byte(i) != round) wrong.fetch_add(1);
          if (i % 5 == 0) machine.vm->close({BlockId{i}});
        }
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(machine.faults, 20 * static_cast<int>(blocks / 5) + static_cast<int>(blocks - blocks / 5));
}

}  // namespace
}  // namespace musubi::vm
