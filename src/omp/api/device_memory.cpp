// omp_target_alloc and its family: memory of the only device, the host.
#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstring>

#include "omp/entry.h"
#include "omp/icv.h"
#include "omp/shared_memory.h"

using namespace musubi::omp;

namespace {

bool is_host(int device) {
  return device == initial_device;
}

// A block of an array with several dimensions: its offset and extent in elements, outermost dimension first.
struct Side {
  std::byte* memory;
  const std::size_t* offsets;
  const std::size_t* dimensions;

  std::size_t slice_bytes(std::size_t element, int count) const {
    for (int i = 1; i < count; ++i) element *= dimensions[i];
    return element;
  }
  Side inner(std::size_t index, std::size_t slice) const {
    return {memory + (offsets[0] + index) * slice, offsets + 1, dimensions + 1};
  }
};

void copy_block(const Side& to, const Side& from, std::size_t element, int count, const std::size_t* volume) {
  if (count == 1) {
    std::memcpy(to.memory + to.offsets[0] * element, from.memory + from.offsets[0] * element,
                volume[0] * element);
    return;
  }
  const std::size_t to_slice = to.slice_bytes(element, count), from_slice = from.slice_bytes(element, count);
  for (std::size_t i = 0; i < volume[0]; ++i) {
    copy_block(to.inner(i, to_slice), from.inner(i, from_slice), element, count - 1, volume + 1);
  }
}

}  // namespace

extern "C" {

MUSUBI_EXPORT void* omp_target_alloc(std::size_t bytes, int device) {
  constexpr std::size_t alignment = 16;
  return is_host(device) ? allocate_shared(alignment, std::max<std::size_t>(bytes, 1)) : nullptr;
}
MUSUBI_EXPORT void omp_target_free(void* address, int device) {
  if (address != nullptr && is_host(device)) free_shared(address);
}
MUSUBI_EXPORT int omp_target_is_present(const void* address, int device) {
  return address == nullptr || is_host(device);
}
MUSUBI_EXPORT int omp_target_memcpy(void* to, const void* from, std::size_t bytes, std::size_t to_offset,
                                    std::size_t from_offset, int to_device, int from_device) {
  if (!is_host(to_device) || !is_host(from_device)) return EINVAL;
  std::memcpy(static_cast<std::byte*>(to) + to_offset, static_cast<const std::byte*>(from) + from_offset,
              bytes);
  return 0;
}
// Without memory it returns the supported number of dimensions.
MUSUBI_EXPORT int omp_target_memcpy_rect(void* to, const void* from, std::size_t element, int count,
                                         const std::size_t* volume, const std::size_t* to_offsets,
                                         const std::size_t* from_offsets, const std::size_t* to_dimensions,
                                         const std::size_t* from_dimensions, int to_device, int from_device) {
  if (to == nullptr && from == nullptr) return INT_MAX;
  if (!is_host(to_device) || !is_host(from_device) || count < 1) return EINVAL;
  auto* source = static_cast<std::byte*>(const_cast<void*>(from));  // only read
  copy_block({static_cast<std::byte*>(to), to_offsets, to_dimensions},
             {source, from_offsets, from_dimensions}, element, count, volume);
  return 0;
}
// Host addresses cannot be associated with other ones.
MUSUBI_EXPORT int omp_target_associate_ptr(const void* /*host*/, const void* /*device_address*/,
                                           std::size_t /*bytes*/, std::size_t /*offset*/, int /*device*/) {
  return EINVAL;
}
MUSUBI_EXPORT int omp_target_disassociate_ptr(const void* /*address*/, int /*device*/) {
  return EINVAL;
}

}  // extern "C"
