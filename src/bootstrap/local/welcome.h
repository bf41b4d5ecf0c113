// The frame that a rank finds in its socket when it joins: sent before the rank is started, so that joining
// does not block.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bootstrap/bootstrap.h"

namespace musubi::bootstrap::local {

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
