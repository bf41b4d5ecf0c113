// What the program asks to be called around fork (pthread_atfork): on the thread that forks, in the parent
// and in the child.
#pragma once

namespace musubi::image {

struct ForkHandlers {
  void (*prepare)();
  void (*parent)();
  void (*child)();
};

// Any of them may be null. Any thread.
void add_fork_handlers(const ForkHandlers& handlers);

// By the thread that forks: those that came last first, and in order.
void prepare_fork();
void end_fork_in_parent();
void end_fork_in_child();

}  // namespace musubi::image
