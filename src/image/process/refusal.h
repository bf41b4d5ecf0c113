// How this layer refuses: by the end of the process, or of one call.
#pragma once

#include <string_view>

namespace musubi::image {

// Writes one line to standard error, then ends the process without its exit handlers.
[[noreturn]] void refuse(int status, std::string_view reason) noexcept;

// One line on standard error: the refused call, the reason, and the remedy. Each remedy is written once per
// process, because programs repeat failed calls. REQUIRES: `remedy` is never freed. Any thread.
void report_refused_call(std::string_view reason, std::string_view remedy) noexcept;

}  // namespace musubi::image
