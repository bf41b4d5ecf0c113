// Makes foreign text harmless for a terminal.
#pragma once

#include <string>
#include <string_view>

namespace musubi::launch {

// `text` with a question mark for each control character other than newline and tab, and for each byte that
// is no part of a UTF-8 character, because terminals obey some of them.
std::string printable(std::string_view text);

}  // namespace musubi::launch
