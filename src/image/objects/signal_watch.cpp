#include "image/objects/signal_watch.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <string>

#include "base/cause.h"
#include "image/threads/program_threads.h"
#include "os/clock.h"
#include "os/own_files.h"
#include "os/signal_calls.h"
#include "os/system_call.h"
#include "runtime/threads/deferred_handlers.h"
#include "vm/signal/fault_handler.h"

namespace musubi::image {
namespace {

// Another thread that does not block a signal takes it within this time if it gets a core.
constexpr std::uint64_t patience_ns = 2'000'000;

// Signals of the processor, which go to the thread that caused them, and of the C library.
constexpr os::SignalBits left_out =
    os::signal_bit(SIGSEGV) | os::signal_bit(SIGBUS) | os::signal_bit(SIGTRAP) | os::signal_bit(SIGILL) |
    os::signal_bit(SIGFPE) | os::signal_bit(SIGABRT) | os::signal_bit(32) | os::signal_bit(33);

// Signals of the process that all threads block now.
os::SignalBits pending_signals() {
  os::SignalBits pending = 0;
  os::system_call(SYS_rt_sigpending, os::as_argument(&pending), sizeof pending);
  return pending & ~left_out;
}

os::SignalBits with_handler() {
  return vm::FaultHandler::installed()->user_signals().with_handler();
}

bool take(int signal, siginfo_t& taken) {
  const os::SignalBits only = os::signal_bit(signal);
  const timespec no_time{};
  return os::system_call(SYS_rt_sigtimedwait, os::as_argument(&only), os::as_argument(&taken),
                         os::as_argument(&no_time), sizeof only) == signal;
}

}  // namespace

Result<void> SignalWatch::open() {
  const sigset_t watched = os::signal_set(~left_out);
  const int signals = ::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
  bell_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  file_ = ::epoll_create1(EPOLL_CLOEXEC);
  // Edge-triggered: a signal that the program keeps blocked may stay pending for ever.
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  if (signals < 0 || bell_ < 0 || file_ < 0 || ::epoll_ctl(file_, EPOLL_CTL_ADD, signals, &event) != 0 ||
      ::epoll_ctl(file_, EPOLL_CTL_ADD, bell_, &event) != 0) {
    return Error{"no descriptor left: " + cause_of(errno)};
  }
  for (const int file : {signals, bell_, file_}) os::note_own_file(file, true);
  return {};
}

void SignalWatch::watch(runtime::Runtime& runtime, Forward forward) {
  runtime_ = &runtime;
  forward_ = forward;
  epoll_event event;
  while (!ended_.load()) {
    if (::epoll_wait(file_, &event, 1, -1) < 0 && errno != EINTR) return;
    send_given();
    look();
  }
}

void SignalWatch::end() noexcept {
  ended_.store(true);
  wake();
}

void SignalWatch::send(const siginfo_t& signal) {
  lock_.lock();
  given_.push_back(signal);
  lock_.unlock();
  wake();
}

// A direct system call: the program's write is wrapped.
void SignalWatch::wake() noexcept {
  const std::uint64_t one = 1;
  os::system_call(SYS_write, bell_, os::as_argument(&one), sizeof one);
}

void SignalWatch::send_given() {
  std::vector<siginfo_t> given;
  lock_.lock();
  given.swap(given_);
  lock_.unlock();
  for (const siginfo_t& signal : given) {
    os::system_call(SYS_rt_sigqueueinfo, os::system_call(SYS_getpid), signal.si_signo,
                    os::as_argument(&signal));
  }
}

void SignalWatch::look() {
  if (pending_signals() == 0) return;
  os::sleep_ns(patience_ns);
  const os::SignalBits left = pending_signals();
  if (runtime_->self() == Rank{0}) return serve(left & with_handler() & runtime::BlockedHandlers::of_main());
  // A thread that runs program code here may wait for signals without a handler.
  const bool none_waits = runtime_->synchronization().is_between_regions() && !has_program_threads();
  const os::SignalBits due = none_waits ? left : left & with_handler();
  siginfo_t taken;
  for (int signal = 1; signal <= 64; ++signal) {
    while ((due & os::signal_bit(signal)) != 0 && take(signal, taken)) forward_(taken);
  }
}

// Counted before it touches shared memory, like a thread that the program has made.
void SignalWatch::serve(os::SignalBits signals) {
  if (signals == 0) return;
  runtime_->threads().add_outsider();
  const bool is_new = runtime_->threads().attach();
  os::set_signal_mask(SIG_UNBLOCK, signals);
  os::set_signal_mask(SIG_BLOCK, signals);
  if (is_new) runtime_->threads().detach();
  runtime_->threads().remove_outsider();
}

}  // namespace musubi::image
