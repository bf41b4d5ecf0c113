#include "image/objects/timers.h"

#include <errno.h>
#include <unistd.h>

#include <cstring>

#include "image/process/real_function.h"
#include "image/process/remote_procedures.h"
#include "image/threads/program_threads.h"
#include "os/signal_calls.h"
#include "vm/signal/user_signals.h"

namespace musubi::image {
namespace {

// The C library's ids are small numbers, or addresses below 2^47 with the highest bit set: the bits in
// between hold the rank.
constexpr unsigned rank_shift = 48;
constexpr std::uintptr_t rank_mask = std::uintptr_t{0x7fff} << rank_shift;

std::uintptr_t number(timer_t timer) noexcept {
  return reinterpret_cast<std::uintptr_t>(timer);
}
timer_t with_rank(timer_t timer, Rank rank) noexcept {
  return reinterpret_cast<timer_t>((number(timer) & ~rank_mask) | std::uintptr_t{rank.value} << rank_shift);
}
Rank rank_of(timer_t timer) noexcept {
  return Rank{static_cast<std::uint32_t>((number(timer) & rank_mask) >> rank_shift)};
}
// The id that the C library gave on the timer's rank.
timer_t at_home(timer_t timer) noexcept {
  return with_rank(timer, Rank{0});
}

template <class Function>
void find(Function& function, const char* name) noexcept {
  function = reinterpret_cast<Function>(next_definition(name));
}

// A function of the program and its argument, for a thread that the C library makes. Never freed: the C
// library forgets the object when the timer is deleted.
struct Notice {
  void (*function)(sigval);
  sigval value;
};

void run_notice(sigval given) {
  os::set_signal_mask(SIG_UNBLOCK, vm::UserSignals::protected_signals);
  begin_program_thread();
  const Notice& notice = *static_cast<const Notice*>(given.sival_ptr);
  notice.function(notice.value);
}

}  // namespace

void Timers::start(runtime::Runtime& runtime) {
  runtime_ = &runtime;
  find(functions_.set_interval, "setitimer");
  find(functions_.get_interval, "getitimer");
  find(functions_.create, "timer_create");
  find(functions_.set, "timer_settime");
  find(functions_.get, "timer_gettime");
  find(functions_.overrun, "timer_getoverrun");
  find(functions_.remove, "timer_delete");
  if (runtime.ranks() > 1) runtime.remote_calls().serve(procedures::timers, *this);
}

int Timers::set_interval(int which, const itimerval* value, itimerval* before) noexcept {
  Message message{};
  message.request = Request::set_interval;
  message.number = which;
  message.has_value = value != nullptr;
  if (value != nullptr) message.interval = *value;
  Reply reply{};
  const int result = ask(Rank{0}, message, reply);
  if (result == 0 && before != nullptr) *before = reply.interval;
  return result;
}

int Timers::get_interval(int which, itimerval* now) noexcept {
  Message message{};
  message.request = Request::get_interval;
  message.number = which;
  Reply reply{};
  const int result = ask(Rank{0}, message, reply);
  if (result == 0) *now = reply.interval;
  return result;
}

int Timers::create(clockid_t clock, const sigevent* event, timer_t* timer) noexcept {
  sigevent wanted{};
  if (event != nullptr) wanted = *event;
  if (event != nullptr && event->sigev_notify == SIGEV_THREAD) {
    // Its threads may start at any time.
    runtime_->threads().add_outsider();
    wanted.sigev_value.sival_ptr = new Notice{event->sigev_notify_function, event->sigev_value};
    wanted.sigev_notify_function = run_notice;
  }
  timer_t made{};
  const int result = functions_.create(clock, event != nullptr ? &wanted : nullptr, &made);
  if (result == 0) *timer = with_rank(made, runtime_->self());
  return result;
}

int Timers::set(timer_t timer, int flags, const itimerspec* value, itimerspec* before) noexcept {
  Message message{};
  message.request = Request::set;
  message.number = flags;
  message.timer = timer;
  message.has_value = value != nullptr;
  if (value != nullptr) message.value = *value;
  Reply reply{};
  const int result = ask(rank_of(timer), message, reply);
  if (result == 0 && before != nullptr) *before = reply.value;
  return result;
}

int Timers::get(timer_t timer, itimerspec* now) noexcept {
  Message message{};
  message.request = Request::get;
  message.timer = timer;
  Reply reply{};
  const int result = ask(rank_of(timer), message, reply);
  if (result == 0) *now = reply.value;
  return result;
}

int Timers::overrun(timer_t timer) noexcept {
  Message message{};
  message.request = Request::overrun;
  message.timer = timer;
  Reply reply{};
  return ask(rank_of(timer), message, reply);
}

int Timers::remove(timer_t timer) noexcept {
  Message message{};
  message.request = Request::remove;
  message.timer = timer;
  Reply reply{};
  return ask(rank_of(timer), message, reply);
}

int Timers::ask(Rank rank, const Message& message, Reply& reply) noexcept {
  if (rank == runtime_->self()) return carry_out(message, reply);
  if (rank.value >= runtime_->ranks()) {
    errno = EINVAL;
    return -1;
  }
  const int kept_errno = errno;
  const std::int64_t status = runtime_->remote_calls()
                                  .call(rank, procedures::timers, std::as_bytes(std::span(&message, 1)),
                                        std::as_writable_bytes(std::span(&reply, 1)))
                                  .status;
  errno = status < 0 ? static_cast<int>(-status) : kept_errno;
  return status < 0 ? -1 : static_cast<int>(status);
}

// Result: as the C library's, -1 and errno.
int Timers::carry_out(const Message& message, Reply& reply) noexcept {
  const timer_t timer = at_home(message.timer);
  const itimerval* const interval = message.has_value ? &message.interval : nullptr;
  const itimerspec* const value = message.has_value ? &message.value : nullptr;
  switch (message.request) {
    case Request::set_interval:
      return functions_.set_interval(message.number, interval, &reply.interval);
    case Request::get_interval:
      return functions_.get_interval(message.number, &reply.interval);
    case Request::set:
      return functions_.set(timer, message.number, value, &reply.value);
    case Request::get:
      return functions_.get(timer, &reply.value);
    case Request::overrun:
      return functions_.overrun(timer);
    case Request::remove:
      return functions_.remove(timer);
  }
  __builtin_unreachable();
}

runtime::Answer Timers::run(Rank, std::span<const std::byte> request, std::span<std::byte> reply) noexcept {
  Message message;
  MUSUBI_CHECK(request.size() == sizeof message);
  std::memcpy(&message, request.data(), sizeof message);
  Reply found{};
  const int result = carry_out(message, found);
  if (result < 0) return {-errno, 0};
  std::memcpy(reply.data(), &found, sizeof found);
  return {result, sizeof found};
}

}  // namespace musubi::image
