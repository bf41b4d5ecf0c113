// Memory that all ranks map: open from the start, but for stacks.
#include "vm/open/open_vm.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>

#include "child_process.h"
#include "crashing.h"

namespace musubi::vm {
namespace {

constexpr std::size_t page = 4096, block_bytes = 4 * page, blocks = 8;
constexpr std::uintptr_t heap_base = 0x510000000000, stacks_base = 0x520000000000;

Space heap_and_stacks() {
  Space space(1);
  for (const bool stacks : {false, true}) {
    Segment segment;
    segment.name = stacks ? "stacks" : "heap";
    segment.base = stacks ? stacks_base : heap_base;
    segment.bytes = blocks * block_bytes;
    segment.block_bytes = block_bytes;
    segment.holds_stacks = stacks;
    space.add(segment);
  }
  return space;
}

volatile char& byte(std::uintptr_t base, std::size_t block) {
  return *reinterpret_cast<volatile char*>(base + block * block_bytes);
}

// One rank's views of a memory that others map, too. The first block of each stack's four is a guard.
class Machine final : public FaultSink {
 public:
  explicit Machine(int memory) : space(heap_and_stacks()) {
    vm = OpenVm::create(space, memory, *this).value();
    for (const int signal : {SIGSEGV, SIGBUS}) handlers.handler.add_owner(signal, *vm);
    for (const std::size_t segment : {0u, 1u}) MUSUBI_CHECK(vm->map_segment(segment, Placement::fresh).ok());
  }
  bool on_fault(const Fault& fault) noexcept override {
    ++faults;
    if ((fault.block.value - blocks) % 4 == 0) return false;
    vm->leave_open({fault.block});
    return true;
  }

  Space space;
  Handlers handlers;
  std::unique_ptr<OpenVm> vm;
  int faults = 0;
};

int memory_file(std::size_t bytes = 2 * blocks * block_bytes) {
  const int memory = ::memfd_create("vm test", MFD_CLOEXEC);
  MUSUBI_CHECK(::ftruncate(memory, static_cast<off_t>(bytes)) == 0);
  return memory;
}

TEST(OpenVm, IsOpenFromTheStartAndOneForAll) {
  const int memory = memory_file();
  const ChildEnd end = run_in_child([&] {
    Machine machine(memory);
    for (std::size_t block = 0; block < blocks; ++block) byte(heap_base, block) = 'a';
    if (machine.faults != 0) ::_exit(1);
    if (machine.vm->system_view()[block_bytes] != std::byte{'a'}) ::_exit(2);
  });
  EXPECT_TRUE(end.exited_with(0)) << end.status << end.error_text;
  char seen = 0;
  ASSERT_EQ(::pread(memory, &seen, 1, 7 * block_bytes), 1);
  EXPECT_EQ(seen, 'a');
  ::close(memory);
}

TEST(OpenVm, BlocksOfStacksOpenAtTheFirstTouchOrWhenPinned) {
  const ChildEnd end = run_in_child([] {
    Machine machine(memory_file());
    machine.vm->leave_open({BlockId{blocks + 1}, 3});
    byte(stacks_base, 1) = 1;
    byte(stacks_base, 3) = 1;
    if (machine.faults != 0) ::_exit(1);
    byte(stacks_base, 5) = 1;
    byte(stacks_base, 5) = 2;
    if (machine.faults != 1) ::_exit(2);
    machine.vm->leave_open({BlockId{blocks + 5}});
  });
  EXPECT_TRUE(end.exited_with(0)) << end.status << end.error_text;
}

TEST(OpenVm, AGuardStaysClosed) {
  const ChildEnd end = run_in_child([] {
    Machine machine(memory_file());
    byte(stacks_base, 4) = 1;
  });
  EXPECT_TRUE(end.killed_by(SIGSEGV)) << end.status;
}

TEST(OpenVm, MemoryThatIsNotThereIsReportedAsSuch) {
  const ChildEnd end = run_in_child([] {
    const int memory = memory_file();
    Machine machine(memory);
    MUSUBI_CHECK(::ftruncate(memory, block_bytes) == 0);
    byte(heap_base, 0) = 1;
    byte(heap_base, 2) = 1;
  });
  EXPECT_TRUE(end.killed_by(SIGBUS)) << end.status;
  EXPECT_TRUE(end.said("in shared memory: no memory is left for it")) << end.error_text;
}

}  // namespace
}  // namespace musubi::vm
