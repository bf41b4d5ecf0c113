// A program that crashes dies as it would natively.
#include <gtest/gtest.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "child_process.h"
#include "crashing.h"
#include "vm/signal/alternate_stack.h"
#include "vm/signal/fault_handler.h"
#include "vm/sigsegv/sigsegv_vm.h"

using namespace musubi;
using namespace musubi::vm;

[[gnu::noinline]] int recurse_without_end(volatile char* outer) {
  volatile char frame[512];
  frame[0] = outer[0];
  if (frame[0] != 0) return 0;  // never true, which the compiler does not know
  return recurse_without_end(frame) + frame[0];
}
[[gnu::noinline]] void call_abort() {
  std::abort();
}

namespace {

TEST(Crash, NullPointerIsNamedWithItsFunction) {
  const ChildEnd end = run_in_child([] {
    Handlers handlers;
    write_through_null(null_pointer);
  });
  EXPECT_TRUE(end.killed_by(SIGSEGV)) << end.status;
  EXPECT_TRUE(end.said(
      "musubi: rank 2: the program was killed by SIGSEGV (segmentation fault): write of address 0x0: "
      "a null pointer at pc 0x"))
      << end.error_text;
  EXPECT_TRUE(end.said("write_through_null")) << end.error_text;
  EXPECT_TRUE(end.said("\n  #1 0x")) << end.error_text;
  EXPECT_TRUE(end.said("main+0x")) << "the backtrace does not reach main: " << end.error_text;
}

TEST(Crash, ReadOfABadAddress) {
  const ChildEnd end = run_in_child([] {
    Handlers handlers;
    (void)*reinterpret_cast<volatile int*>(0x7123456000);
  });
  EXPECT_TRUE(end.killed_by(SIGSEGV));
  EXPECT_TRUE(end.said("read of address 0x7123456000 at pc 0x")) << end.error_text;
}

TEST(Crash, CallThroughANullPointerShowsTheCaller) {
  const ChildEnd end = run_in_child([] {
    Handlers handlers;
    void (*volatile function)() = nullptr;
    function();
  });
  EXPECT_TRUE(end.killed_by(SIGSEGV));
  EXPECT_TRUE(end.said("execution of address 0x0: a null pointer at pc 0x0 in no code")) << end.error_text;
  EXPECT_TRUE(end.said("\n  #1 0x")) << end.error_text;
}

TEST(Crash, NonCanonicalAddress) {
  const ChildEnd end = run_in_child([] {
    Handlers handlers;
    (void)*reinterpret_cast<volatile int*>(0x8000000000000000);
  });
  EXPECT_TRUE(end.killed_by(SIGSEGV));
  EXPECT_TRUE(end.said("no pointer can hold")) << end.error_text;
}

TEST(Crash, StackOverflowOfTheMainThread) {
  const ChildEnd end = run_in_child([] {
    const rlimit small{1 << 20, RLIM_INFINITY};
    ::setrlimit(RLIMIT_STACK, &small);
    Handlers handlers;
    char start = 0;
    recurse_without_end(&start);
  });
  EXPECT_TRUE(end.killed_by(SIGSEGV)) << end.status;
  EXPECT_TRUE(end.said("the stack has probably overflowed")) << end.error_text;
  EXPECT_TRUE(end.said("recurse_without_end")) << end.error_text;
  EXPECT_TRUE(end.said("... and more")) << end.error_text;
}

TEST(Crash, StackOverflowOfARegisteredStack) {
  const ChildEnd end = run_in_child([] {
    Handlers handlers;
    const std::size_t bytes = 256 * 1024;
    const std::size_t guard = 64 * 1024;
    auto* const low = static_cast<char*>(
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ::mprotect(low, guard, PROT_NONE);
    const auto address = reinterpret_cast<std::uintptr_t>(low);
    handlers.handler.register_stack(address, address + bytes, guard);
    ucontext_t context;
    ucontext_t back;
    ::getcontext(&context);
    context.uc_stack = {low + guard, 0, bytes - guard};
    context.uc_link = &back;
    ::makecontext(
        &context,
        +[] {
          char start = 0;
          recurse_without_end(&start);
        },
        0);
    ::swapcontext(&back, &context);
  });
  EXPECT_TRUE(end.killed_by(SIGSEGV));
  EXPECT_TRUE(end.said(": the stack overflowed; it ends at 0x")) << end.error_text;
  EXPECT_TRUE(end.said("has 192 KiB")) << end.error_text;
}

TEST(Crash, DivisionByZero) {
  const ChildEnd end = run_in_child([] {
    Handlers handlers;
    volatile int one = 1;
    volatile int zero = 0;
    one = divide(&one, &zero);
  });
  EXPECT_TRUE(end.killed_by(SIGFPE));
  EXPECT_TRUE(end.said("killed by SIGFPE (arithmetic error): integer division by zero at pc 0x"))
      << end.error_text;
  EXPECT_TRUE(end.said("divide")) << end.error_text;
}

TEST(Crash, Abort) {
  const ChildEnd end = run_in_child([] {
    Handlers handlers;
    call_abort();
  });
  EXPECT_TRUE(end.killed_by(SIGABRT));
  EXPECT_TRUE(end.said("killed by SIGABRT (abort): abort() was called")) << end.error_text;
  EXPECT_TRUE(end.said("call_abort")) << end.error_text;
}

TEST(Crash, IllegalInstruction) {
  const ChildEnd end = run_in_child([] {
    Handlers handlers;
    __asm__ volatile("ud2");
  });
  EXPECT_TRUE(end.killed_by(SIGILL));
  EXPECT_TRUE(end.said("killed by SIGILL (illegal instruction)")) << end.error_text;
}

TEST(Crash, BrokenStackStillEndsByTheSameSignal) {
  const ChildEnd end = run_in_child([] {
    Handlers handlers;
    __asm__ volatile("xor %%ebp, %%ebp\n\tmov $0x10, %%esp\n\tmovl $0, 0x7000" ::: "memory");
  });
  EXPECT_TRUE(end.killed_by(SIGSEGV)) << end.status;
  EXPECT_TRUE(end.said("write of address 0x7000")) << end.error_text;
}

TEST(Crash, SignalSentByAnotherProcess) {
  const ChildEnd end = run_in_child([] {
    Handlers handlers;
    ::raise(SIGBUS);
  });
  EXPECT_TRUE(end.killed_by(SIGBUS));
  EXPECT_TRUE(end.said("killed by SIGBUS (bus error): sent by process ")) << end.error_text;
}

TEST(Crash, OneReportWhenAllThreadsCrash) {
  const ChildEnd end = run_in_child([] {
    Handlers handlers;
    const auto crash = [] {
      AlternateStack stack;
      MUSUBI_CHECK(stack.install().ok());
      write_through_null(null_pointer);
    };
    std::thread first(crash);
    std::thread second(crash);
    first.join();
    second.join();
  });
  EXPECT_TRUE(end.killed_by(SIGSEGV));
  const std::size_t at = end.error_text.find("musubi: rank");
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(end.error_text.find("musubi: rank", at + 1), std::string::npos) << end.error_text;
}

// ---- Several owners of one signal, and errors of the runtime itself.

struct TrapOwner final : SignalOwner {
  explicit TrapOwner(bool mine) : takes(mine) {}
  SignalVerdict on_signal(int, const siginfo_t&, ucontext_t&) noexcept override {
    ++asked;
    errno = ERANGE;
    return {takes ? SignalVerdict::Kind::resolved : SignalVerdict::Kind::foreign};
  }
  bool takes;
  int asked = 0;
};

TEST(Owners, ShareASignalInOrder) {
  const ChildEnd end = run_in_child([] {
    Handlers handlers;
    TrapOwner first(false);
    TrapOwner second(true);
    TrapOwner third(true);
    for (TrapOwner* owner : {&first, &second, &third}) handlers.handler.add_owner(SIGTRAP, *owner);
    errno = 0;
    __asm__ volatile("int3");
    MUSUBI_CHECK(first.asked == 1 && second.asked == 1 && third.asked == 0 && errno == 0);
    second.takes = third.takes = false;
    __asm__ volatile("int3");
  });
  EXPECT_TRUE(end.killed_by(SIGTRAP));
  EXPECT_TRUE(end.said("killed by SIGTRAP")) << end.error_text;
}

struct BrokenSink final : FaultSink {
  bool on_fault(const Fault&) noexcept override {
    write_through_null(null_pointer);
    return true;
  }
};

TEST(Owners, MemoryThatIsNotThereIsReportedAsSuchWhereItIsOneForAll) {
  const ChildEnd end = run_in_child([] {
    constexpr std::uintptr_t base = 0x510000000000;
    Handlers handlers;
    Space space(1);
    Segment segment;
    segment.name = "heap";
    segment.base = base;
    segment.bytes = 4 * 4096;
    segment.block_bytes = 4096;
    space.add(segment);
    const int memory = ::memfd_create("vm test", MFD_CLOEXEC);
    MUSUBI_CHECK(::ftruncate(memory, static_cast<off_t>(space.bytes())) == 0);
    BrokenSink sink;
    trace::Counters counters;
    auto vm = SigsegvVm::create(space, memory, sink, {}, counters).value();
    handlers.handler.add_owner(SIGBUS, *vm);
    MUSUBI_CHECK(vm->map_segment(0, Placement::fresh).ok());
    MUSUBI_CHECK(vm->leave_segment_open(0, Backing::memory_file).ok());
    MUSUBI_CHECK(::ftruncate(memory, 4096) == 0);
    *reinterpret_cast<volatile char*>(base) = 1;
    *reinterpret_cast<volatile char*>(base + 2 * 4096) = 1;
  });
  EXPECT_TRUE(end.killed_by(SIGBUS)) << end.status;
  EXPECT_TRUE(end.said("in shared memory: no memory is left for it")) << end.error_text;
}

TEST(Owners, ACrashInsideTheRuntimeIsCalledItsBug) {
  const ChildEnd end = run_in_child([] {
    Handlers handlers;
    handlers.user().handler(SIGSEGV, [](int) { ::_exit(3); });  // must not be asked
    Space space(1);
    Segment segment;
    segment.name = "heap";
    segment.base = 0x510000000000;
    segment.bytes = 1 << 20;
    segment.block_bytes = 4096;
    space.add(segment);
    const int memory = ::memfd_create("test", MFD_CLOEXEC);
    MUSUBI_CHECK(::ftruncate(memory, 1 << 20) == 0);
    BrokenSink sink;
    trace::Counters counters;
    auto vm = SigsegvVm::create(space, memory, sink, {}, counters);
    MUSUBI_CHECK(vm.value()->map_segment(0, Placement::fresh).ok());
    handlers.handler.add_owner(SIGSEGV, *vm.value());
    *reinterpret_cast<volatile char*>(segment.base) = 1;
  });
  EXPECT_TRUE(end.killed_by(SIGSEGV)) << end.status;
  EXPECT_TRUE(end.said("rank 2: the runtime itself failed (a bug of Musubi): killed by SIGSEGV"))
      << end.error_text;
  EXPECT_TRUE(end.said("on_fault")) << end.error_text;
}

}  // namespace
