// The message to the program's user, besides errno, when a call cannot be had over several ranks.
#pragma once

#include <string_view>

namespace musubi::image {

// One line on standard error: what was refused and why, and the remedy. Each remedy is written once per
// process: programs repeat what failed. REQUIRES: `remedy` lives for good. Any thread.
void report_refused_call(std::string_view reason, std::string_view remedy) noexcept;

}  // namespace musubi::image
