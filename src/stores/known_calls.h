// The writes of functions of the C library, of OpenMP and of C++ that are known by name.
#pragma once

#include <cstdint>
#include <string_view>

namespace musubi::stores {

enum class KnownCall : std::uint8_t {
  unknown,
  writes_nothing,  // to the program's memory, outside of stacks
  allocates,       // as well, and returns memory that no other thread has
  writes_words,    // aligned words of four bytes, or wider
  gives_results,   // words, where its arguments point to in the caller's frame; keeps no address
  writes_first,    // the target of its first argument, by bytes
  ends,            // writes nothing, and does not return
};

KnownCall known_call(std::string_view name) noexcept;

}  // namespace musubi::stores
