// How the launcher tells a process that it is a rank: the environment variable MUSUBI_JOB.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "bootstrap/bootstrap.h"

namespace musubi::bootstrap::local {

inline constexpr std::uint32_t ranks_max = 4096;

struct Invitation {
  int socket = -1;  // the rank's end of the socket pair
  Rank rank;
  std::uint32_t ranks = 0;
  int process_id = 0;  // of the rank; child programs inherit the variable and are no ranks
  int board = -1;      // file with the wait boards of all ranks (trace/wait_records.h)
  int events = 0;      // file with the event logs of all ranks (trace/event_log.h); 0: no trace
  // The user's soft stack limit (address_layout.h).
  std::uint64_t stack_limit = ~std::uint64_t{0};
};

// `000007:0002:0016:0000004711:000008:000000:ffffffffffffffff` (socket, rank, ranks, pid, board, events,
// stack limit). Fixed width: the environment lies at the top of the stack, and a different size would move
// the stack of one rank relative to another's.
Result<Invitation> parse_invitation(std::string_view text);
std::string format_invitation(const Invitation& invitation);

// The frame that a rank finds in its socket when it joins: sent before the rank is started, so that joining
// does not block.
struct Welcome {
  std::string secret;                          // of the job; bytes
  std::vector<std::uint16_t> host_of;          // by rank: the number of its host
  Carrier carrier;                             // of the rank, if it has one
  std::vector<std::uint32_t> processors = {};  // to which the rank is bound; empty: not bound
};

// The body of a `welcome` frame; fits one frame for ranks_max ranks, a secret of up to 1 KiB and 4096
// processors.
std::string format_welcome(const Welcome& welcome);
// Errors: the text is malformed, or is for another number of ranks.
Result<Welcome> parse_welcome(std::string_view text, std::uint32_t ranks);

}  // namespace musubi::bootstrap::local
