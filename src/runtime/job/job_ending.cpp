#include "runtime/job/job_ending.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace musubi::runtime {

Departure::Departure(fabric::Fabric& fabric) : fabric_(fabric) {
  fabric.listen(fabric::MessageKind::control, this);
}

void Departure::announce() noexcept {
  for (std::uint32_t rank = 0; rank < fabric_.ranks(); ++rank) {
    if (Rank{rank} == fabric_.self()) continue;
    (void)fabric_.send(Rank{rank}, fabric::MessageKind::control, fabric::Urgency::promptly, {});
  }
}

// The service thread does the rest: a polling thread may be inside the C library and hold its locks.
const char* Departure::on_message(Rank, std::span<const std::byte> body) noexcept {
  if (!body.empty()) return "it leaves by a message that is damaged";
  announced_.store(true, std::memory_order_release);
  fabric_.wake_service();
  return nullptr;
}

void Departure::follow() noexcept {
  std::fflush(nullptr);
  // Not _exit, which a front end may have replaced. The launcher already knows the status.
  ::syscall(SYS_exit_group, 0);
  std::abort();
}

}  // namespace musubi::runtime
