// The file that lists a program's hosts, as `musubi run --hostfile` reads it: one name per line, repeated for
// each further process there; `#` begins a comment.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace musubi::sms {

// Whether the name is this host's, which the system calls `own_name`: compared also without the domain of
// either; `localhost` is this host, too.
bool is_this_host(std::string_view name, std::string_view own_name);

struct HostList {
  std::uint32_t lines = 0;  // that name a host
  bool has_others = false;  // lists another host than this one: the launcher reads the list
};

// Errors: the file cannot be read, or names no host.
Result<HostList> read_host_list(const std::string& path);

}  // namespace musubi::sms
