// The program's own signal handlers live on next to the runtime's.
#include <errno.h>
#include <gtest/gtest.h>
#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>

#include "child_process.h"
#include "crashing.h"

namespace musubi::vm {
namespace {

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
      if (caught % 2) zero = divide(&zero, &zero);
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
  returns = returns + 1;  // not a tail call: this function must appear in the backtrace
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

// While the program has handlers, blocking signals delays the runtime's work, and its barriers are slower.
TEST(UserHandler, OfAProtectedSignalIsNotHeldBack) {
  const ChildEnd end = run_in_child([] {
    Handlers handlers;
    handlers.user().handler(SIGTRAP, &exit_with_3);
    MUSUBI_CHECK(handlers.user().with_handler() == 0);
    handlers.user().handler(SIGUSR1, &exit_with_3);
    MUSUBI_CHECK(handlers.user().with_handler() == os::signal_bit(SIGUSR1));
    ::_exit(7);
  });
  EXPECT_TRUE(end.exited_with(7)) << end.status << end.error_text;
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

}  // namespace
}  // namespace musubi::vm
