#include "runtime/threads/request_bell.h"

#include "coherence/regions.h"
#include "os/futex.h"

namespace musubi::runtime {
namespace {

// Little-endian: the lower half of the word that counts requests.
const std::atomic<std::uint32_t>* word_at(std::byte* place) noexcept {
  return reinterpret_cast<const std::atomic<std::uint32_t>*>(place);
}

}  // namespace

RequestBell::RequestBell(fabric::Fabric& fabric, std::byte* control, std::uint64_t offset)
    : fabric_(fabric), own_(word_at(control + offset)), offset_(offset) {
  fabric.listen(fabric::MessageKind::request, this);
}

bool RequestBell::ring(Rank peer) noexcept {
  if (peer == fabric_.self()) {
    os::futex_wake(*own_);
    return true;
  }
  if (std::byte* const region = fabric_.direct(peer, coherence::control_region)) {
    os::futex_wake(*word_at(region + offset_));
    return true;
  }
  return fabric_.send(peer, fabric::MessageKind::request, fabric::Urgency::promptly, {}) !=
         fabric::Outcome::busy;
}

void RequestBell::wait(std::uint32_t seen, std::uint64_t timeout_ns) const {
  os::futex_wait(*own_, seen, timeout_ns);
}

const char* RequestBell::on_message(Rank, std::span<const std::byte> body) noexcept {
  if (!body.empty()) return "it rings by a message that is damaged";
  os::futex_wake(*own_);
  return nullptr;
}

}  // namespace musubi::runtime
