// Functions that the program has registered to run at its end: handlers of atexit and on_exit, destructors of
// objects, handlers of at_quick_exit. Rank 0 keeps one list of each kind for the job. The exiting thread, on
// any rank, takes and runs them one at a time, the last first, as in one process.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "image/process/owner_calls.h"
#include "runtime/api/runtime.h"

namespace musubi::image {

class ExitHandlers {
 public:
  enum class List : std::uint32_t { exit, quick_exit };
  struct Handler {
    void* function;  // null: no handler
    void* argument;
    bool wants_status;  // the status precedes the argument (on_exit)
  };

  // Collective, before the program runs.
  void start(runtime::Runtime& runtime);

  // Attached threads of the program. The handler sees this thread's earlier writes.
  void add(List list, const Handler& handler);
  // Runs and removes all handlers of the list, also handlers that they add. Called by the exiting thread; a
  // forked child of rank 0 runs the handlers that the parent had at the fork.
  void run(List list, int status);

 private:
  Handler take(List list);
  // At rank 0.
  void take_here(List list, Handler& handler) noexcept;
  void add_here(List list, const Handler& handler);

  std::mutex lock_;
  std::vector<Handler> lists_[2];  // at rank 0
  OwnerCalls<&ExitHandlers::take_here, &ExitHandlers::add_here> calls_;
};

}  // namespace musubi::image
