// What the functions of the C library, of OpenMP and of C++ that are known by name write.
#pragma once

#include <cstdint>
#include <string_view>

namespace musubi::atomics {

enum class KnownCall : std::uint8_t {
  unknown,
  writes_nothing,  // of the program's, outside of stacks
  writes_words,    // nothing of that which is narrower than four bytes
  ends,            // writes nothing, and does not return
};

KnownCall known_call(std::string_view name) noexcept;

}  // namespace musubi::atomics
