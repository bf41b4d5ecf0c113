// What the functions of the C library, of OpenMP and of C++ that are known by name write.
#pragma once

#include <cstdint>
#include <string_view>

namespace musubi::stores {

enum class KnownCall : std::uint8_t {
  unknown,
  writes_nothing,  // of the program's, outside of stacks
  allocates,       // as well, and returns memory that no one else has
  writes_words,    // aligned words of four bytes, or wider
  writes_first,    // what its first argument points to, by bytes
  ends,            // writes nothing, and does not return
};

KnownCall known_call(std::string_view name) noexcept;

}  // namespace musubi::stores
