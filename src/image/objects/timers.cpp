#include "image/objects/timers.h"

#include <errno.h>
#include <unistd.h>

#include "image/process/call_result.h"
#include "image/process/real_function.h"
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

template <class Value>
std::optional<Value> optional(const Value* value) noexcept {
  return value != nullptr ? std::optional(*value) : std::nullopt;
}
template <class Value>
const Value* pointer(const std::optional<Value>& value) noexcept {
  return value ? &*value : nullptr;
}

int with_error(int result) noexcept {
  return result < 0 ? -errno : result;
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
  calls_.start(runtime, procedures::timers, *this);
}

int Timers::set_interval(int which, const itimerval* value, itimerval* before) noexcept {
  itimerval found{};
  const std::int64_t result = calls_.at<&Timers::set_interval_here>(Rank{0}, which, optional(value), found);
  if (result == 0 && before != nullptr) *before = found;
  return static_cast<int>(as_call(result));
}

int Timers::get_interval(int which, itimerval* now) noexcept {
  itimerval found{};
  const std::int64_t result = calls_.at<&Timers::get_interval_here>(Rank{0}, which, found);
  if (result == 0) *now = found;
  return static_cast<int>(as_call(result));
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
  itimerspec found{};
  const int result = at_rank_of<&Timers::set_here>(timer, flags, optional(value), found);
  if (result == 0 && before != nullptr) *before = found;
  return result;
}

int Timers::get(timer_t timer, itimerspec* now) noexcept {
  itimerspec found{};
  const int result = at_rank_of<&Timers::get_here>(timer, found);
  if (result == 0) *now = found;
  return result;
}

int Timers::overrun(timer_t timer) noexcept {
  return at_rank_of<&Timers::overrun_here>(timer);
}
int Timers::remove(timer_t timer) noexcept {
  return at_rank_of<&Timers::remove_here>(timer);
}

template <auto function, class... Arguments>
int Timers::at_rank_of(timer_t timer, Arguments&&... arguments) noexcept {
  const Rank rank = rank_of(timer);
  if (rank.value >= runtime_->ranks()) return fail(EINVAL);
  return static_cast<int>(as_call(calls_.at<function>(rank, with_rank(timer, Rank{0}), arguments...)));
}

int Timers::set_interval_here(int which, std::optional<itimerval> value, itimerval& before) noexcept {
  return with_error(functions_.set_interval(which, pointer(value), &before));
}
int Timers::get_interval_here(int which, itimerval& now) noexcept {
  return with_error(functions_.get_interval(which, &now));
}
int Timers::set_here(timer_t timer, int flags, std::optional<itimerspec> value, itimerspec& before) noexcept {
  return with_error(functions_.set(timer, flags, pointer(value), &before));
}
int Timers::get_here(timer_t timer, itimerspec& now) noexcept {
  return with_error(functions_.get(timer, &now));
}
int Timers::overrun_here(timer_t timer) noexcept {
  return with_error(functions_.overrun(timer));
}
int Timers::remove_here(timer_t timer) noexcept {
  return with_error(functions_.remove(timer));
}

}  // namespace musubi::image
