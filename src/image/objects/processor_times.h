// The processor time of the job, which the program takes for that of its process (docs/reference/process.md).
#pragma once

#include <sys/resource.h>

#include "image/process/owner_calls.h"
#include "runtime/api/runtime.h"

namespace musubi::image {

class ProcessorTimes {
 public:
  // Collective, before the program runs.
  void start(runtime::Runtime& runtime);

  // Usage of the other ranks, or of their children (RUSAGE_CHILDREN): sums of times, faults, switches and
  // blocks; the maximum of sizes. At most a millisecond old, so that a loop may poll its clock cheaply. May
  // block for calls. Any attached thread, in handlers of the program, too.
  rusage of_others(int who) noexcept;

 private:
  int used_here(int who, rusage& used) noexcept;

  runtime::Runtime* runtime_ = nullptr;
  OwnerCalls<&ProcessorTimes::used_here> calls_;
};

// Adds as described for of_others().
void add(rusage& sum, const rusage& other) noexcept;

}  // namespace musubi::image
