// The file that lists a program's hosts: one name a line, a name again for one more process there; `#` begins
// a comment.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace musubi::sms {

// Whether the name is this host's, of which the system says that it is `own_name`: also without the domain
// of either, and `localhost`.
bool is_this_host(std::string_view name, std::string_view own_name);

// Result: how many lines name a host. Errors: the file cannot be read, names no host, or names another one.
Result<std::uint32_t> read_host_list(const std::string& path);

}  // namespace musubi::sms
