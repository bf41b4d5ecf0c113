// How a program dies, and how its own signal handlers live on beside the runtime's.
#include <gtest/gtest.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "child_process.h"
#include "vm/sigsegv/alternate_stack.h"
#include "vm/sigsegv/fault_handler.h"
#include "vm/sigsegv/sigsegv_vm.h"

using namespace musubi;
using namespace musubi::vm;

// With external linkage and never inlined: the tests look for these names in backtraces.
[[gnu::noinline]] void write_through_null(volatile int* pointer) {
  *pointer = 1;
}
[[gnu::noinline]] int divide(volatile int* dividend, volatile int* divisor) {
  return *dividend / *divisor;
}
[[gnu::noinline]] int recurse_without_end(volatile char* outer) {
  volatile char frame[512];
  frame[0] = outer[0];
  if (frame[0] != 0) return 0;  // never, which the compiler does not know
  return recurse_without_end(frame) + frame[0];
}
[[gnu::noinline]] void call_abort() {
  std::abort();
}

namespace {

volatile int* volatile null_pointer = nullptr;

struct Handlers {
  Handlers() : handler(Rank{2}) {
    MUSUBI_CHECK(stack.install().ok());
    handler.install();
  }
  UserSignals& user() { return handler.user_signals(); }

  AlternateStack stack;
  FaultHandler handler;
};

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
  EXPECT_TRUE(end.said("has 256 KiB")) << end.error_text;
}

TEST(Crash, DivisionByZero) {
  const ChildEnd end = run_in_child([] {
    Handlers handlers;
    volatile int one = 1;
    volatile int zero = 0;
    divide(&one, &zero);
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

// ---- The program's own handlers.

void* seen_address = nullptr;
void exit_with_3(int) {
  ::_exit(3);
}
void note_address(int, siginfo_t* information, void*) {
  seen_address = information->si_addr;
  ::_exit(information->si_signo == SIGSEGV ? 4 : 5);
}

TEST(UserHandler, InstalledBeforeTheRuntimeIsCalled) {
  const ChildEnd end = run_in_child([] {
    ::signal(SIGSEGV, &exit_with_3);
    Handlers handlers;
    write_through_null(null_pointer);
  });
  EXPECT_TRUE(end.exited_with(3)) << end.status << end.error_text;
}

TEST(UserHandler, WithInformationIsCalledAndRemembered) {
  const ChildEnd end = run_in_child([] {
    Handlers handlers;
    struct sigaction set {};
    struct sigaction old {};
    set.sa_sigaction = &note_address;
    set.sa_flags = SA_SIGINFO;
    sigaddset(&set.sa_mask, SIGUSR1);
    MUSUBI_CHECK(handlers.user().action(SIGSEGV, &set, &old) == 0 && old.sa_handler == SIG_DFL);
    MUSUBI_CHECK(handlers.user().action(SIGSEGV, nullptr, &old) == 0 && old.sa_sigaction == &note_address);
    MUSUBI_CHECK(old.sa_flags == SA_SIGINFO && sigismember(&old.sa_mask, SIGUSR1));
    write_through_null(null_pointer);
  });
  EXPECT_TRUE(end.exited_with(4)) << end.status << end.error_text;
}

sigjmp_buf recovery;
volatile int caught = 0;
void jump_out(int) {
  caught = caught + 1;
  siglongjmp(recovery, 1);
}

TEST(UserHandler, MayJumpOutAgainAndAgain) {
  const ChildEnd end = run_in_child([] {
    Handlers handlers;
    handlers.user().handler(SIGSEGV, &jump_out);
    handlers.user().handler(SIGFPE, &jump_out);
    for (caught = 0; caught < 100;) {
      if (sigsetjmp(recovery, 1) != 0) continue;
      volatile int zero = 0;
      if (caught % 2) divide(&zero, &zero);
      write_through_null(null_pointer);
    }
  });
  EXPECT_TRUE(end.exited_with(0)) << end.status << end.error_text;
}

void skip_instruction(int, siginfo_t*, void* context) {
  static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP] += 2;
  errno = EDOM;
}

TEST(UserHandler, MayChangeTheContextAndErrno) {
  const ChildEnd end = run_in_child([] {
    Handlers handlers;
    struct sigaction set {};
    set.sa_sigaction = &skip_instruction;
    set.sa_flags = SA_SIGINFO;
    handlers.user().action(SIGILL, &set, nullptr);
    errno = 0;
    __asm__ volatile("ud2" ::: "memory");
    ::_exit(errno == EDOM ? 7 : 8);
  });
  EXPECT_TRUE(end.exited_with(7)) << end.status << end.error_text;
}

volatile int returns = 0;
void crash_again(int) {
  write_through_null(null_pointer);
  returns = returns + 1;  // not a tail call: this function is to stand in the backtrace
}

TEST(UserHandler, ThatCrashesItselfEndsTheProgram) {
  const ChildEnd end = run_in_child([] {
    Handlers handlers;
    handlers.user().handler(SIGSEGV, &crash_again);
    write_through_null(null_pointer);
  });
  EXPECT_TRUE(end.killed_by(SIGSEGV)) << end.status;
  EXPECT_TRUE(end.said("the program was killed by SIGSEGV")) << end.error_text;
  EXPECT_TRUE(end.said("crash_again")) << end.error_text;
}

TEST(UserHandler, ThatAsksToBeResetIsCalledOnce) {
  const ChildEnd end = run_in_child([] {
    Handlers handlers;
    struct sigaction set {};
    set.sa_handler = [](int) { caught = caught + 1; };
    set.sa_flags = SA_RESETHAND;
    handlers.user().action(SIGSEGV, &set, nullptr);
    ::raise(SIGSEGV);
    struct sigaction old {};
    handlers.user().action(SIGSEGV, nullptr, &old);
    MUSUBI_CHECK(caught == 1 && old.sa_handler == SIG_DFL);
    ::raise(SIGSEGV);
  });
  EXPECT_TRUE(end.killed_by(SIGSEGV));
  EXPECT_TRUE(end.said("SIGSEGV (segmentation fault): sent by process")) << end.error_text;
}

TEST(UserHandler, IgnoredSignalsAreIgnoredUnlessForced) {
  const ChildEnd end = run_in_child([] {
    Handlers handlers;
    handlers.user().handler(SIGSEGV, SIG_IGN);
    ::raise(SIGSEGV);
    ::write(STDERR_FILENO, "alive\n", 6);
    write_through_null(null_pointer);
  });
  EXPECT_TRUE(end.killed_by(SIGSEGV));
  EXPECT_TRUE(end.said("alive\nmusubi: rank 2")) << end.error_text;
}

TEST(UserMask, ProtectedSignalsStayOpenAndLookBlocked) {
  const ChildEnd end = run_in_child([] {
    Handlers handlers;
    sigset_t all;
    sigset_t old;
    sigfillset(&all);
    MUSUBI_CHECK(handlers.user().mask(SIG_SETMASK, &all, nullptr) == 0);
    MUSUBI_CHECK(handlers.user().mask(SIG_BLOCK, nullptr, &old) == 0);
    MUSUBI_CHECK(sigismember(&old, SIGSEGV) && sigismember(&old, SIGUSR1));
    sigset_t real;
    ::pthread_sigmask(SIG_BLOCK, nullptr, &real);
    for (const int signal : {SIGSEGV, SIGBUS, SIGTRAP}) MUSUBI_CHECK(!sigismember(&real, signal));
    MUSUBI_CHECK(sigismember(&real, SIGUSR1));
    MUSUBI_CHECK(handlers.user().mask(SIG_UNBLOCK, &all, nullptr) == 0);
    MUSUBI_CHECK(handlers.user().mask(SIG_BLOCK, nullptr, &old) == 0 && !sigismember(&old, SIGSEGV));
    MUSUBI_CHECK(handlers.user().mask(77, &all, nullptr) == EINVAL);
  });
  EXPECT_TRUE(end.exited_with(0)) << end.status << end.error_text;
}

TEST(UserMask, OtherHandlersNeverBlockProtectedSignalsAndAreRememberedAsSet) {
  const ChildEnd end = run_in_child([] {
    Handlers handlers;
    struct sigaction set {};
    set.sa_handler = [](int) {
      sigset_t real;
      ::pthread_sigmask(SIG_BLOCK, nullptr, &real);
      MUSUBI_CHECK(!sigismember(&real, SIGSEGV) && sigismember(&real, SIGUSR2));
      char here = 0;
      MUSUBI_CHECK(AlternateStack::current()->contains(reinterpret_cast<std::uintptr_t>(&here)));
      caught = caught + 1;
    };
    sigfillset(&set.sa_mask);
    struct sigaction old {};
    MUSUBI_CHECK(handlers.user().action(SIGUSR1, &set, nullptr) == 0);
    ::raise(SIGUSR1);
    MUSUBI_CHECK(handlers.user().action(SIGUSR1, nullptr, &old) == 0);
    MUSUBI_CHECK(caught == 1 && old.sa_flags == 0 && sigismember(&old.sa_mask, SIGSEGV));
    MUSUBI_CHECK(handlers.user().action(SIGKILL, &set, nullptr) == -1 && errno == EINVAL);
  });
  EXPECT_TRUE(end.exited_with(0)) << end.status << end.error_text;
}

TEST(UserMask, AlternateStackIsRememberedButNotInstalled) {
  const ChildEnd end = run_in_child([] {
    Handlers handlers;
    static char small[8192];
    const stack_t mine{small, 0, sizeof small};
    stack_t old{};
    MUSUBI_CHECK(handlers.user().alternate_stack(&mine, &old) == 0 && old.ss_flags == SS_DISABLE);
    MUSUBI_CHECK(handlers.user().alternate_stack(nullptr, &old) == 0 && old.ss_sp == small);
    stack_t real{};
    ::sigaltstack(nullptr, &real);
    MUSUBI_CHECK(real.ss_sp != small && real.ss_size >= 256 * 1024);
  });
  EXPECT_TRUE(end.exited_with(0)) << end.status << end.error_text;
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
  bool on_fault(BlockId, Access) noexcept override {
    write_through_null(null_pointer);
    return true;
  }
};

TEST(Owners, ACrashInsideTheRuntimeIsCalledItsBug) {
  const ChildEnd end = run_in_child([] {
    Handlers handlers;
    handlers.user().handler(SIGSEGV, &exit_with_3);  // must not be asked
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
    MUSUBI_CHECK(vm.value()->map_segment(0, SigsegvVm::Placement::fresh).ok());
    handlers.handler.add_owner(SIGSEGV, *vm.value());
    *reinterpret_cast<volatile char*>(segment.base) = 1;
  });
  EXPECT_TRUE(end.killed_by(SIGSEGV)) << end.status;
  EXPECT_TRUE(end.said("rank 2: the runtime itself failed (a bug of Musubi): killed by SIGSEGV"))
      << end.error_text;
  EXPECT_TRUE(end.said("on_fault")) << end.error_text;
}

}  // namespace
