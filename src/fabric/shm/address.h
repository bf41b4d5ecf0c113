// The files of a rank, sent to its peers at start so that they can map its memory.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "fabric/fabric.h"

namespace musubi::fabric {

struct ShmAddress {
  struct Region {
    std::uint64_t bytes = 0;  // 0: no such region
    std::uint64_t file_offset = 0;
    std::int32_t file = -1;
  };

  pid_t process = 0;
  std::int32_t mailbox_file = -1;
  std::int32_t waiters_rope = -1, service_rope = -1;  // -1: its threads sleep on futexes
  std::array<Region, region_count_max> regions{};
};

std::string encode(const ShmAddress& address);
// Error: the blob has the wrong size.
Result<ShmAddress> decode_shm_address(std::string_view blob);

}  // namespace musubi::fabric
