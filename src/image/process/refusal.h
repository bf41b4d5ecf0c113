// How this layer gives up: before the runtime exists nobody else can tell the user.
#pragma once

#include <string_view>

namespace musubi::image {

// One line on standard error, then the end of the process without its exit handlers.
[[noreturn]] void refuse(int status, std::string_view reason) noexcept;

}  // namespace musubi::image
