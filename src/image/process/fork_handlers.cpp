#include "image/process/fork_handlers.h"

#include <mutex>
#include <vector>

namespace musubi::image {
namespace {

// One list for the process: the registering call carries no handle. Each fork uses a copy, because a handler
// may register others, and a child has no other thread that could release the lock.
constinit std::mutex guard;
constinit std::vector<ForkHandlers>* registered = nullptr;
// The handlers of the fork in progress.
constinit thread_local std::vector<ForkHandlers>* of_this_fork = nullptr;

std::vector<ForkHandlers> take_handlers() {
  std::vector<ForkHandlers> handlers = std::move(*of_this_fork);
  delete of_this_fork;
  of_this_fork = nullptr;
  return handlers;
}

}  // namespace

void add_fork_handlers(const ForkHandlers& handlers) {
  const std::lock_guard held(guard);
  if (registered == nullptr) registered = new std::vector<ForkHandlers>;
  registered->push_back(handlers);
}

void prepare_fork() {
  {
    const std::lock_guard held(guard);
    of_this_fork =
        registered == nullptr ? new std::vector<ForkHandlers> : new std::vector<ForkHandlers>(*registered);
  }
  for (auto handlers = of_this_fork->rbegin(); handlers != of_this_fork->rend(); ++handlers) {
    if (handlers->prepare != nullptr) handlers->prepare();
  }
}

void end_fork_in_parent() {
  for (const ForkHandlers& handlers : take_handlers()) {
    if (handlers.parent != nullptr) handlers.parent();
  }
}

void end_fork_in_child() {
  for (const ForkHandlers& handlers : take_handlers()) {
    if (handlers.child != nullptr) handlers.child();
  }
}

}  // namespace musubi::image
