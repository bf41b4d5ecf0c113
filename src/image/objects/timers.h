// Timers of the process (docs/decisions/process_objects.md): setitimer's run on rank 0 for all ranks; those
// of timer_create run on the rank that made them, which their ids contain.
#pragma once

#include <signal.h>
#include <sys/time.h>
#include <time.h>

#include "runtime/api/runtime.h"

namespace musubi::image {

// Results and errno as in section 2 of the manual. Pointers are to private memory, and may be null where the
// manual permits. Any attached thread, in handlers of the program, too.
class Timers final : private runtime::Procedure {
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
  enum class Request : std::uint32_t { set_interval, get_interval, set, get, overrun, remove };
  struct Message {
    Request request;
    std::int32_t number;  // kind of interval timer; flags
    timer_t timer;        // the id on its rank
    bool has_value;
    itimerval interval;
    itimerspec value;
  };
  struct Reply {
    itimerval interval;
    itimerspec value;
  };

  runtime::Answer run(Rank caller, std::span<const std::byte> request,
                      std::span<std::byte> reply) noexcept override;
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

  int carry_out(const Message& message, Reply& reply) noexcept;
  int ask(Rank rank, const Message& message, Reply& reply) noexcept;

  runtime::Runtime* runtime_ = nullptr;
  Functions functions_{};
};

}  // namespace musubi::image
