// Properties specific to pages by userfaultfd; tests/conformance/vm tests those that all drivers share.
#include "vm/uffd/uffd_vm.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "child_process.h"
#include "crashing.h"

namespace musubi::vm {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t block_bytes = 4 * page;
constexpr std::uintptr_t base = 0x510000000000;

Space space_of(std::uint64_t blocks) {
  Space space(1);
  Segment segment;
  segment.name = "heap";
  segment.base = base;
  segment.bytes = blocks * block_bytes;
  segment.block_bytes = block_bytes;
  space.add(segment);
  return space;
}

// Opens every block on demand, unless it must refuse.
class Machine final : public FaultSink {
 public:
  explicit Machine(std::uint64_t blocks = 8) : space(space_of(blocks)) {
    const int memory = ::memfd_create("vm test", MFD_CLOEXEC);
    MUSUBI_CHECK(::ftruncate(memory, static_cast<off_t>(space.bytes())) == 0);
    vm = UffdVm::create(space, memory, *this, counters).value();
    ::close(memory);
    for (const int signal : {SIGSEGV, SIGBUS}) handlers.handler.add_owner(signal, *vm);
    MUSUBI_CHECK(vm->map_segment(0, Placement::fresh).ok());
  }
  bool on_fault(const Fault& fault) noexcept override {
    const auto [block, wanted] = std::pair(fault.block, fault.wanted);
    faults.fetch_add(1);
    if (refuses) return false;
    if (wanted == Access::read) {
      vm->open_read({block});
    } else if (readable.count(block.value) != 0) {
      vm->upgrade({block});
    } else {
      vm->open_write({block});
    }
    return true;
  }
  char* bytes(std::uint64_t block) const {
    return reinterpret_cast<char*>(space.extent(BlockId{block}).address);
  }
  volatile char& byte(std::uint64_t block) const { return *bytes(block); }

  Space space;
  Handlers handlers;
  trace::Counters counters;
  std::atomic<int> faults{0};
  bool refuses = false;
  std::set<std::uint64_t> readable;  // open for reading when they fault for writing
  std::unique_ptr<UffdVm> vm;
};

class Uffd : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto file = os::FaultFile::open(); !file) GTEST_SKIP() << file.error().message;
  }
};

// As when the kernel takes pages to swap.
void lose_pages(Machine& machine, std::uint64_t block, std::uint64_t blocks) {
  ASSERT_EQ(::madvise(machine.bytes(block), blocks * block_bytes, MADV_DONTNEED), 0);
}

TEST_F(Uffd, PagesThatTheKernelTookComeBackWithoutTheSink) {
  Machine machine;
  machine.vm->open_read({BlockId{0}});
  machine.vm->open_write({BlockId{1}, 2});
  machine.vm->downgrade({BlockId{2}});
  machine.vm->open_read({BlockId{3}});
  machine.vm->upgrade({BlockId{3}});
  for (std::uint64_t block : {1u, 3u}) machine.byte(block) = 'x';
  lose_pages(machine, 0, 4);
  EXPECT_EQ(machine.byte(0), 0);
  EXPECT_EQ(machine.byte(1), 'x');
  machine.byte(1) = 'y';
  machine.byte(3) = 'z';
  EXPECT_EQ(machine.byte(2), 0);
  EXPECT_EQ(machine.faults, 0);
  EXPECT_EQ(machine.vm->reopened(), 4u);
  // A block open for reading only has come back in that state.
  machine.readable = {0, 2};
  machine.byte(0) = 1;
  machine.byte(2) = 1;
  EXPECT_EQ(machine.faults, 2);
}

TEST_F(Uffd, SystemCallsReachWhatIsOpenAndWhatIsLeftOpen) {
  Machine machine;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  machine.vm->open_write({BlockId{0}});
  machine.vm->leave_open({BlockId{1}, 2});  // no page of these exists yet
  machine.vm->open_read({BlockId{3}});
  const auto receive = [&](char* to) {
    EXPECT_EQ(::write(ends[1], "abc", 3), 3);
    const ssize_t got = ::read(ends[0], to, 3);
    char rest[3];
    if (got < 0) {
      EXPECT_EQ(::read(ends[0], rest, 3), 3);
    }
    return got;
  };
  EXPECT_EQ(receive(machine.bytes(0)), 3);
  EXPECT_EQ(receive(machine.bytes(1) + block_bytes - 1), 3);
  EXPECT_EQ(receive(machine.bytes(3)), -1);
  EXPECT_EQ(receive(machine.bytes(4)), -1);
  machine.vm->upgrade({BlockId{3}});
  EXPECT_EQ(receive(machine.bytes(3)), 3);
  EXPECT_EQ(std::string(machine.bytes(1) + block_bytes - 1, 3), "abc");
  EXPECT_EQ(machine.faults, 0);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(Uffd, AnOperationLeavesErrnoAlone) {
  Machine machine;
  errno = EDOM;
  machine.vm->open_read({BlockId{0}, 3});  // pages that do not exist yet: calls fail and are repeated
  machine.vm->upgrade({BlockId{0}, 3});
  machine.vm->downgrade({BlockId{0}, 3});
  machine.vm->close({BlockId{0}, 3});
  machine.byte(5) = 1;
  EXPECT_EQ(errno, EDOM);
}

TEST_F(Uffd, AlternatingAccessesTakeNoMappings) {
  constexpr std::uint64_t blocks = 6000;
  Machine machine(blocks);
  for (std::uint64_t i = 0; i < blocks; i += 2) machine.byte(i) = 1;
  EXPECT_EQ(machine.faults, static_cast<int>(blocks / 2));
  int lines = 0;
  std::FILE* file = std::fopen("/proc/self/maps", "r");
  for (unsigned long low, high; std::fscanf(file, "%lx-%lx%*[^\n]\n", &low, &high) == 2;) {
    lines += low >= base && high <= base + machine.space.bytes();
  }
  std::fclose(file);
  EXPECT_EQ(lines, 1);
}

// The program sees the same as with inaccessible memory.
TEST_F(Uffd, ARefusedFaultIsASegmentationFaultOfTheProgram) {
  const ChildEnd reported = run_in_child([] {
    Machine machine;
    machine.refuses = true;
    machine.byte(2) = 1;
  });
  EXPECT_TRUE(reported.killed_by(SIGSEGV)) << reported.status;
  EXPECT_TRUE(reported.said("the program was killed by SIGSEGV (segmentation fault): write of address 0x51"))
      << reported.error_text;
  const ChildEnd handled = run_in_child([] {
    Machine machine;
    machine.refuses = true;
    struct sigaction set {};
    set.sa_flags = SA_SIGINFO;
    set.sa_sigaction = [](int signal, siginfo_t* information, void*) {
      const bool right = signal == SIGSEGV && information->si_signo == SIGSEGV &&
                         information->si_code == SEGV_ACCERR &&
                         information->si_addr == reinterpret_cast<void*>(base + 2 * block_bytes);
      ::_exit(right ? 7 : 8);
    };
    machine.handlers.user().action(SIGSEGV, &set, nullptr);
    machine.handlers.user().handler(SIGBUS, [](int) { ::_exit(9); });
    machine.byte(2) = 1;
  });
  EXPECT_TRUE(handled.exited_with(7)) << handled.status << handled.error_text;
}

TEST_F(Uffd, TheGuardOfAStackIsASegmentationFault) {
  const ChildEnd end = run_in_child([] {
    Machine machine;
    machine.vm->leave_open({BlockId{1}, 7});
    machine.handlers.handler.register_stack(base, base + 8 * block_bytes, block_bytes);
    machine.byte(1) = 1;
    machine.byte(0) = 1;
  });
  EXPECT_TRUE(end.killed_by(SIGSEGV)) << end.status;
  EXPECT_TRUE(end.said("killed by SIGSEGV (segmentation fault)")) << end.error_text;
  EXPECT_TRUE(end.said(": the stack overflowed; it ends at 0x510000004000")) << end.error_text;
}

TEST_F(Uffd, ABusErrorOfTheProgramStaysOne) {
  const ChildEnd end = run_in_child([] {
    Machine machine;
    const int empty = ::memfd_create("empty", MFD_CLOEXEC);
    auto* const beyond = static_cast<volatile char*>(::mmap(nullptr, page, PROT_READ, MAP_SHARED, empty, 0));
    static_cast<void>(beyond[0]);
  });
  EXPECT_TRUE(end.killed_by(SIGBUS)) << end.status;
  EXPECT_TRUE(end.said("the program was killed by SIGBUS (bus error): read of address 0x")) << end.error_text;
}

// A child's pages are not monitored: it must not read old bytes from them.
TEST_F(Uffd, AForkedChildDoesNotHaveThePages) {
  Machine machine;
  machine.byte(0) = 1;
  machine.vm->leave_open({BlockId{1}});
  machine.byte(1) = 2;
  const ChildEnd kept = run_in_child([&] { ::_exit(machine.byte(1)); });
  EXPECT_TRUE(kept.exited_with(2)) << kept.status << kept.error_text;
  const ChildEnd gone = run_in_child([&] { ::_exit(machine.byte(0)); });
  EXPECT_TRUE(gone.killed_by(SIGSEGV)) << gone.status;
  EXPECT_TRUE(gone.said("shared memory that the program has unmapped")) << gone.error_text;
}

// Threads write to their own blocks, whose pages disappear under them all the time, and close some of them.
TEST_F(Uffd, PagesComeBackWhileOthersAreClosed) {
  constexpr int threads = 3;
  constexpr std::uint64_t blocks = 60;
  Machine machine(blocks);
  std::atomic<int> wrong{0}, closed{0};
  std::atomic<bool> done{false};
  std::thread thief([&] {
    while (!done.load()) {
      ::madvise(machine.bytes(0), blocks * block_bytes, MADV_DONTNEED);
      std::this_thread::yield();
    }
  });
  std::vector<std::thread> running;
  for (int me = 0; me < threads; ++me) {
    running.emplace_back([&, me] {
      AlternateStack stack;
      MUSUBI_CHECK(stack.install().ok());
      for (char round = 1; round <= 20; ++round) {
        for (std::uint64_t i = static_cast<std::uint64_t>(me); i < blocks; i += threads) {
          machine.byte(i) = round;
          if (machine.byte(i) != round) wrong.fetch_add(1);
          if (i % 5 != 0) continue;
          machine.vm->close({BlockId{i}});
          closed.fetch_add(1);
        }
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  done.store(true);
  thief.join();
  EXPECT_EQ(wrong, 0);
  // Each closed block is closed: one fault for each time, and the first of each other thread.
  EXPECT_EQ(machine.faults, closed + static_cast<int>(blocks - blocks / 5));
}

// A thread that maps a block again holds it: a close that arrives before it is done must wait.
TEST(UffdGrantTable, NobodyChangesABlockThatIsHeld) {
  const Space space = space_of(2);
  GrantTable table(space);
  table.grant({BlockId{0}, 2}, Access::none, Access::none, Access::read);
  EXPECT_FALSE(table.hold(BlockId{0}, Access::write)) << "that much is not granted";
  ASSERT_EQ(table.hold(BlockId{0}, Access::read), Access::read);
  std::atomic<bool> closing{false}, closed{false};
  std::thread other([&] {
    closing.store(true);
    table.grant({BlockId{0}, 2}, Access::read, Access::write, Access::none);
    closed.store(true);
  });
  while (!closing.load()) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(closed.load());
  table.release(BlockId{0});
  other.join();
  EXPECT_FALSE(table.hold(BlockId{0}, Access::read));
  table.leave_open({BlockId{1}});
  EXPECT_TRUE(table.is_left_open(BlockId{1}));
  EXPECT_FALSE(table.hold(BlockId{1}, Access::read)) << "nothing there is the driver's any more";
}

}  // namespace
}  // namespace musubi::vm
