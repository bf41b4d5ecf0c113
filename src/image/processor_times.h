// The processor time of the process, which the program takes for one: of all ranks together
// (docs/reference/process.md).
#pragma once

#include <sys/resource.h>

#include "runtime/api/runtime.h"

namespace musubi::image {

class ProcessorTimes final : private runtime::Procedure {
 public:
  // Collective, before the program runs.
  void start(runtime::Runtime& runtime);

  // What the other ranks, or their children (RUSAGE_CHILDREN), have used: times, faults, switches and blocks
  // added up, the largest of the sizes. A millisecond old at most, so that a loop may look at its clock. May
  // block for calls. Any attached thread, in handlers of the program, too.
  rusage of_others(int who) noexcept;

 private:
  runtime::Answer run(Rank caller, std::span<const std::byte> request,
                      std::span<std::byte> reply) noexcept override;

  runtime::Runtime* runtime_ = nullptr;
};

// Adds as above.
void add(rusage& sum, const rusage& other) noexcept;

}  // namespace musubi::image
