// The operations of musubi_reduce on arrays of a type.
#pragma once

#include <cstddef>
#include <cstdint>

namespace musubi::c_api {

// Bytes of one value; 0: no such type.
std::size_t bytes_of_type(int type) noexcept;
// Whether the type supports the operation.
bool is_operation(int type, int operation) noexcept;
// into[i] = into[i] (operation) from[i], in this order. REQUIRES: is_operation().
void combine(int type, int operation, std::size_t count, std::byte* into, const std::byte* from) noexcept;

}  // namespace musubi::c_api
