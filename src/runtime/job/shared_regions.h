// The memory that ranks offer each other. An access can fail: the kernel raises SIGBUS if it cannot allocate
// the page.
#pragma once

#include <array>
#include <cstddef>

#include "fabric/fabric.h"
#include "vm/signal/signal_owner.h"

namespace musubi::runtime {

class SharedRegions final : public vm::SignalOwner {
 public:
  // The regions of every rank, all of these sizes. `fabric` outlives this object.
  SharedRegions(fabric::Fabric& fabric, const std::array<fabric::RegionMemory, 6>& regions)
      : fabric_(fabric), regions_(regions) {}

  // Fatal, with an explanation, for SIGBUS in one of the regions; otherwise foreign.
  vm::SignalVerdict on_signal(int signal, const siginfo_t& information,
                              ucontext_t& context) noexcept override;

 private:
  fabric::Fabric& fabric_;
  const std::array<fabric::RegionMemory, 6> regions_;
};

}  // namespace musubi::runtime
