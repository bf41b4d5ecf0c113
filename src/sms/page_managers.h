// Changes of page managers: asked for at any time, in force from the next barrier on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "runtime/api/runtime.h"

namespace musubi::sms {

class PageManagers {
 public:
  explicit PageManagers(runtime::Runtime& runtime) : runtime_(runtime) {}

  // All of it is shared memory.
  void change(std::uintptr_t begin, std::size_t bytes, Rank page_manager);
  // After each barrier, before the program goes on. Brings the pages that this process is to have now; blocks
  // for the processes that have them, one block after the other.
  void carry_out();

 private:
  struct Change {
    std::uintptr_t begin;
    std::size_t bytes;
  };
  runtime::Runtime& runtime_;
  std::vector<Change> to_here_;
};

}  // namespace musubi::sms
