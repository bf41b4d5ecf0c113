// The message to the user, in addition to errno, for a call that cannot work over several ranks.
#pragma once

#include <string_view>

namespace musubi::image {

// One line on standard error: the refused call, the reason, and the remedy. Each remedy is written once per
// process, because programs repeat failed calls. REQUIRES: `remedy` is never freed. Any thread.
void report_refused_call(std::string_view reason, std::string_view remedy) noexcept;

}  // namespace musubi::image
