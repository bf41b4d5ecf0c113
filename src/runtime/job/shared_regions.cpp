#include "runtime/job/shared_regions.h"

#include <signal.h>

namespace musubi::runtime {

vm::SignalVerdict SharedRegions::on_signal(int signal, const siginfo_t& information, ucontext_t&) noexcept {
  if (signal != SIGBUS || information.si_code <= 0) return {};
  const auto address = reinterpret_cast<std::uintptr_t>(information.si_addr);
  for (std::uint32_t rank = 0; rank < fabric_.ranks(); ++rank) {
    for (const fabric::RegionMemory& region : regions_) {
      const auto base = reinterpret_cast<std::uintptr_t>(fabric_.direct(Rank{rank}, region.id));
      if (base == 0 || address - base >= region.bytes) continue;
      return {vm::SignalVerdict::Kind::fatal,
              "in the memory that ranks share: no memory is left for it (`musubi doctor` shows the limits)"};
    }
  }
  return {};
}

}  // namespace musubi::runtime
