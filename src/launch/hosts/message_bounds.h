// The largest body of each kind of message: a longer one is damaged.
#pragma once

#include <cstdint>

#include "launch/hosts/message.h"

namespace musubi::launch {

constexpr std::uint64_t body_bytes_max(MessageKind kind) {
  constexpr std::uint64_t KiB = 1024, MiB = 1024 * KiB, GiB = 1024 * MiB;
  switch (kind) {
    case MessageKind::hello:
      return 4 * KiB;
    case MessageKind::input:
      return 64 * KiB;
    // One exchange of all ranks' blobs; a ring of events.
    case MessageKind::gathered:
    case MessageKind::events:
      return 5 * GiB;
    // Arguments and environment; lines (line_buffer.h); data of each rank.
    case MessageKind::order:
    case MessageKind::facts:
    case MessageKind::refused:
    case MessageKind::ended:
    case MessageKind::crashed:
    case MessageKind::output:
    case MessageKind::output_begun:
    case MessageKind::error:
    case MessageKind::error_begun:
    case MessageKind::seen:
    case MessageKind::report:
    case MessageKind::reported:
      return 64 * MiB;
    default:
      return 0;
  }
}

}  // namespace musubi::launch
