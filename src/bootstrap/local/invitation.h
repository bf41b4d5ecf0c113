// How the launcher tells a process that it is a rank: the environment variable MUSUBI_JOB.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"

namespace musubi::bootstrap::local {

inline constexpr std::uint32_t ranks_max = 4096;

struct Invitation {
  int socket = -1;  // the rank's end of the socket pair
  Rank rank;
  std::uint32_t ranks = 0;
  int process_id = 0;  // of the rank; a program that the rank starts inherits the variable, but is no rank
  int board = -1;      // the file of the boards of all ranks (trace/wait_records.h)
  int events = 0;      // the file of the event logs of all ranks (trace/event_log.h); 0: there is no trace
  // The user's soft limit on the stack (address_layout.h).
  std::uint64_t stack_limit = ~std::uint64_t{0};
};

// `000007:0002:0016:0000004711:000008:000000:ffffffffffffffff` (socket, rank, ranks, pid, board, events,
// limit on the stack). Fixed width: the environment lies at the top of the stack, and its size must not move
// the stack of one rank against another's.
Result<Invitation> parse_invitation(std::string_view text);
std::string format_invitation(const Invitation& invitation);

}  // namespace musubi::bootstrap::local
