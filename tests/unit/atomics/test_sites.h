// Every form in every addressing mode, as code that runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "forms.h"

namespace musubi::atomics {

inline constexpr unsigned rsp = 4;
// Each site has a slot in a buffer of code: the instruction, the jump back, and space that may count as
// padding.
inline constexpr std::size_t code_slot_bytes = 48;
inline constexpr std::size_t padding_offset = 32;

inline std::uint64_t address_of(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

struct TestSite {
  Form form;
  Encoding encoding;
  bool is_private;  // when the address is part of the code
  std::size_t slot;
  std::size_t length;
};

// Whether the address is part of the code.
bool is_fixed(Addressing addressing);
// Fixed addresses are one of the two targets, both below 2 GiB.
std::vector<TestSite> choose_sites(Random& random, std::uint64_t shared_target, std::uint64_t private_target);
// Writes a site's slot in `buffer`, which is within 2 GiB of the targets. Result: the instruction's length.
std::size_t write_code(const TestSite& site, std::uint8_t* buffer);

}  // namespace musubi::atomics
