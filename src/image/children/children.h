// Children of the program (docs/decisions/process_objects.md): the system knows each as a child of the rank
// that made it; to the program all are its own. A wait for a child of another rank asks that rank.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>

#include "image/process/owner_calls.h"
#include "runtime/api/runtime.h"

namespace musubi::image {

class Children {
 public:
  // Collective, before the program runs.
  void start(runtime::Runtime& runtime);

  // This rank makes a child: from now on, ranks that wait for any child ask this rank, too.
  void note_child() noexcept;

  // Whether another rank may have made the child, or one of the children, to wait for. Only then call the two
  // wait functions below; this process waits for its own children without them.
  bool may_be_elsewhere(pid_t process) noexcept;
  // False in a child made by vfork, which shares everything else with its parent.
  bool is_this_process() const noexcept;
  // As wait4(2), for children of all ranks. Pointers are to private memory, or null. Polls.
  pid_t wait(pid_t process, int* status, int options, struct rusage* usage) noexcept;
  // As waitid(2), for children of all ranks.
  int wait(idtype_t type, id_t id, siginfo_t* information, int options) noexcept;

 private:
  struct Question {
    bool with_information;  // waitid
    idtype_t type;
    std::int32_t process;
    std::int32_t options;
  };
  struct Found {
    std::int32_t status;
    struct rusage usage;
    siginfo_t information;
  };

  // Looks at children of this process. Result: the kernel's.
  std::int64_t look(const Question& question, Found& found) noexcept;
  std::int64_t look_everywhere(Question question, Found& found) noexcept;

  runtime::Runtime* runtime_ = nullptr;
  pid_t process_ = 0;
  OwnerCalls<&Children::look> calls_;
};

}  // namespace musubi::image
