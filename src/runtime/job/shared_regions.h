// The memory that ranks offer each other. An access to it can fail: the kernel answers with SIGBUS when it
// cannot bring the page into being.
#pragma once

#include <array>
#include <cstddef>

#include "fabric/fabric.h"
#include "vm/signal/signal_owner.h"

namespace musubi::runtime {

class SharedRegions final : public vm::SignalOwner {
 public:
  // The regions of every rank, all of these sizes. `fabric` outlives this.
  SharedRegions(fabric::Fabric& fabric, const std::array<fabric::RegionMemory, 6>& regions)
      : fabric_(fabric), regions_(regions) {}

  // Fatal, with what it means, for SIGBUS in one of the regions; else foreign.
  vm::SignalVerdict on_signal(int signal, const siginfo_t& information,
                              ucontext_t& context) noexcept override;

 private:
  fabric::Fabric& fabric_;
  const std::array<fabric::RegionMemory, 6> regions_;
};

}  // namespace musubi::runtime
