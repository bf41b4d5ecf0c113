// Changes of page managers: requested at any time, effective from the next barrier on.
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

  // All of the range is shared memory.
  void change(std::uintptr_t begin, std::size_t bytes, Rank page_manager);
  // After each barrier, before the program continues. Moves the pages that this process now manages to it,
  // one block at a time; blocks for their previous managers.
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
