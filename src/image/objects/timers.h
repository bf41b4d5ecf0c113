// Timers of the process (docs/decisions/process_objects.md): setitimer's run on rank 0 for all ranks; those
// of timer_create run on the rank that made them, which their ids contain.
#pragma once

#include <signal.h>
#include <sys/time.h>
#include <time.h>

#include <optional>

#include "image/process/owner_calls.h"
#include "runtime/api/runtime.h"

namespace musubi::image {

// Results and errno as in section 2 of the manual. Pointers may be to shared memory, which the kernel cannot
// open: the calls below work on copies. Any attached thread, in handlers of the program, too.
class Timers {
 public:
  // Collective, before the program runs.
  void start(runtime::Runtime& runtime);

  int set_interval(int which, const itimerval* value, itimerval* before) noexcept;
  int get_interval(int which, itimerval* now) noexcept;

  // On this rank.
  int create(clockid_t clock, const sigevent* event, timer_t* timer) noexcept;
  // On the timer's rank.
  int set(timer_t timer, int flags, const itimerspec* value, itimerspec* before) noexcept;
  int get(timer_t timer, itimerspec* now) noexcept;
  int overrun(timer_t timer) noexcept;
  int remove(timer_t timer) noexcept;

 private:
  // The C library's. A lookup takes locks of the dynamic linker, which a handler may have interrupted.
  struct Functions {
    int (*set_interval)(int, const itimerval*, itimerval*);
    int (*get_interval)(int, itimerval*);
    int (*create)(clockid_t, sigevent*, timer_t*);
    int (*set)(timer_t, int, const itimerspec*, itimerspec*);
    int (*get)(timer_t, itimerspec*);
    int (*overrun)(timer_t);
    int (*remove)(timer_t);
  };

  // On this rank, for any rank. Results: the C library's, or a negative error number.
  int set_interval_here(int which, std::optional<itimerval> value, itimerval& before) noexcept;
  int get_interval_here(int which, itimerval& now) noexcept;
  int set_here(timer_t timer, int flags, std::optional<itimerspec> value, itimerspec& before) noexcept;
  int get_here(timer_t timer, itimerspec& now) noexcept;
  int overrun_here(timer_t timer) noexcept;
  int remove_here(timer_t timer) noexcept;
  template <auto function, class... Arguments>
  int at_rank_of(timer_t timer, Arguments&&... arguments) noexcept;

  runtime::Runtime* runtime_ = nullptr;
  Functions functions_{};
  OwnerCalls<&Timers::set_interval_here, &Timers::get_interval_here, &Timers::set_here, &Timers::get_here,
             &Timers::overrun_here, &Timers::remove_here>
      calls_;
};

}  // namespace musubi::image
