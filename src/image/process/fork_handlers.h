// Handlers that the program registers with pthread_atfork. They run on the forking thread, in the parent and
// in the child.
#pragma once

namespace musubi::image {

struct ForkHandlers {
  void (*prepare)();
  void (*parent)();
  void (*child)();
};

// Any of them may be null. Any thread.
void add_fork_handlers(const ForkHandlers& handlers);

// By the forking thread: prepare handlers in reverse order of registration, the other two in order.
void prepare_fork();
void end_fork_in_parent();
void end_fork_in_child();

}  // namespace musubi::image
