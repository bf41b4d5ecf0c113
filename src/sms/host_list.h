// The file that lists a program's hosts, as `musubi run --hostfile` reads it: one name a line, a name again
// for one more process there; `#` begins a comment.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace musubi::sms {

// Whether the name is this host's, of which the system says that it is `own_name`: also without the domain
// of either, and `localhost`.
bool is_this_host(std::string_view name, std::string_view own_name);

struct HostList {
  std::uint32_t lines = 0;  // that name a host
  bool has_others = false;  // than this one: the launcher reads the list
};

// Errors: the file cannot be read, or names no host.
Result<HostList> read_host_list(const std::string& path);

}  // namespace musubi::sms
