// The vector registers that XSAVE saves, for code that enters C++ from code that does not know of the call.
#pragma once

#include <cstdint>

namespace musubi::os {

struct VectorState {
  std::uint64_t bytes = 0;       // of the area, without alignment
  std::uint64_t components = 0;  // to save: the mask of XSAVE
  bool compact = false;          // whether the processor has XSAVEC
  bool tells_use = false;        // whether it can report the components in use (XGETBV with 1)
};

// All components that the kernel has enabled, except the tiles of AMX: 8 KiB that our code does not touch. No
// bytes: the processor or the kernel lacks XSAVE.
VectorState vector_state() noexcept;

}  // namespace musubi::os
