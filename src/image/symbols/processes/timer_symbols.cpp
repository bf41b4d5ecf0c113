// Timers of the program (image/objects/timers.h).
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "image/start/job.h"
#include "image/symbols/exported.h"

namespace {

using namespace musubi::image;

constinit Next<int (*)(int, const itimerval*, itimerval*)> next_set_interval("setitimer");
constinit Next<int (*)(int, itimerval*)> next_get_interval("getitimer");
constinit Next<int (*)(clockid_t, sigevent*, timer_t*)> next_create("timer_create");
constinit Next<int (*)(timer_t, int, const itimerspec*, itimerspec*)> next_set("timer_settime");
constinit Next<int (*)(timer_t, itimerspec*)> next_get("timer_gettime");
constinit Next<int (*)(timer_t)> next_overrun("timer_getoverrun"), next_remove("timer_delete");

// Null if timers belong to this process alone.
Timers* timers_of_job() noexcept {
  Job* const job = job_of_ranks();
  return job != nullptr ? &job->timers : nullptr;
}

int set_interval(int which, const itimerval* value, itimerval* before) noexcept {
  Timers* const timers = timers_of_job();
  return timers == nullptr ? next_set_interval.get()(which, value, before)
                           : timers->set_interval(which, value, before);
}

}  // namespace

MUSUBI_EXPORT int setitimer(int which, const itimerval* value, itimerval* before) noexcept {
  return set_interval(which, value, before);
}
MUSUBI_EXPORT int getitimer(int which, itimerval* now) noexcept {
  Timers* const timers = timers_of_job();
  return timers == nullptr ? next_get_interval.get()(which, now) : timers->get_interval(which, now);
}

MUSUBI_EXPORT unsigned alarm(unsigned seconds) noexcept {
  const itimerval value{{0, 0}, {static_cast<time_t>(seconds), 0}};
  itimerval before{};
  if (set_interval(ITIMER_REAL, &value, &before) != 0) return 0;
  const timeval& left = before.it_value;
  const bool rounds_up = left.tv_usec >= 500'000 || (left.tv_sec == 0 && left.tv_usec > 0);
  return static_cast<unsigned>(left.tv_sec) + (rounds_up ? 1 : 0);
}
MUSUBI_EXPORT useconds_t ualarm(useconds_t first_us, useconds_t interval_us) noexcept {
  constexpr useconds_t second_us = 1'000'000;
  const auto as_time = [](useconds_t time_us) {
    return timeval{static_cast<time_t>(time_us / second_us), static_cast<suseconds_t>(time_us % second_us)};
  };
  const itimerval value{as_time(interval_us), as_time(first_us)};
  itimerval before{};
  if (set_interval(ITIMER_REAL, &value, &before) != 0) return static_cast<useconds_t>(-1);
  return static_cast<useconds_t>(before.it_value.tv_sec) * second_us +
         static_cast<useconds_t>(before.it_value.tv_usec);
}

MUSUBI_EXPORT int timer_create(clockid_t clock, sigevent* event, timer_t* timer) noexcept {
  Timers* const timers = timers_of_job();
  return timers == nullptr ? next_create.get()(clock, event, timer) : timers->create(clock, event, timer);
}
MUSUBI_EXPORT int timer_settime(timer_t timer, int flags, const itimerspec* value,
                                itimerspec* before) noexcept {
  Timers* const timers = timers_of_job();
  return timers == nullptr ? next_set.get()(timer, flags, value, before)
                           : timers->set(timer, flags, value, before);
}
MUSUBI_EXPORT int timer_gettime(timer_t timer, itimerspec* now) noexcept {
  Timers* const timers = timers_of_job();
  return timers == nullptr ? next_get.get()(timer, now) : timers->get(timer, now);
}
MUSUBI_EXPORT int timer_getoverrun(timer_t timer) noexcept {
  Timers* const timers = timers_of_job();
  return timers == nullptr ? next_overrun.get()(timer) : timers->overrun(timer);
}
MUSUBI_EXPORT int timer_delete(timer_t timer) noexcept {
  Timers* const timers = timers_of_job();
  return timers == nullptr ? next_remove.get()(timer) : timers->remove(timer);
}
