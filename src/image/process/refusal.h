// How this layer gives up: before the runtime exists no other layer can tell the user.
#pragma once

#include <string_view>

namespace musubi::image {

// Writes one line to standard error, then ends the process without its exit handlers.
[[noreturn]] void refuse(int status, std::string_view reason) noexcept;

}  // namespace musubi::image
