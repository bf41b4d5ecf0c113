// musubi.h: accesses that the program announces.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/export.h"
#include "c_api/job.h"
#include "musubi/musubi.h"

using musubi::AddressRange;
using musubi::c_api::current_job;
using musubi::c_api::Job;
using musubi::vm::Access;

namespace {

AddressRange range_of(const volatile void* memory, std::size_t bytes) {
  return {reinterpret_cast<std::uintptr_t>(memory), bytes};
}

// Calls use(job) if the program may use the bytes.
template <class Use>
int use_shared(const void* memory, std::size_t bytes, Use use) {
  Job* const job = current_job();
  if (job == nullptr) return MUSUBI_ERROR_STATE;
  if (bytes == 0) return MUSUBI_OK;
  if (!job->is_shared(memory, bytes)) return MUSUBI_ERROR_ADDRESS;
  use(*job);
  return MUSUBI_OK;
}

// Calls use(checks, range) in a job, for a range that does not wrap.
template <class Use>
void check(const volatile void* memory, std::size_t bytes, Use use) {
  Job* const job = current_job();
  const AddressRange range = range_of(memory, bytes);
  if (job == nullptr || bytes == 0 || bytes - 1 > UINTPTR_MAX - range.begin) return;
  use(job->runtime.checks(), range);
}

}  // namespace

MUSUBI_EXPORT int musubi_touch(const void* memory, size_t bytes, int writable) {
  return use_shared(memory, bytes,
                    [=](Job& job) { job.runtime.memory().touch(memory, bytes, writable != 0); });
}

MUSUBI_EXPORT int musubi_prefetch(const void* memory, size_t bytes, int writable) {
  const Access wanted = writable != 0 ? Access::write : Access::read;
  return use_shared(memory, bytes,
                    [=](Job& job) { job.runtime.checks().open(range_of(memory, bytes), wanted); });
}

MUSUBI_EXPORT int musubi_release_range(const void* memory, size_t bytes) {
  return use_shared(memory, bytes,
                    [=](Job& job) { job.runtime.synchronization().release_range(memory, bytes); });
}

MUSUBI_EXPORT int musubi_prefetch_all(const musubi_range* ranges, size_t count, int writable) {
  Job* const job = current_job();
  if (job == nullptr) return MUSUBI_ERROR_STATE;
  if (count != 0 && ranges == nullptr) return MUSUBI_ERROR_ADDRESS;
  for (std::size_t i = 0; i < count; ++i) {
    if (ranges[i].bytes != 0 && !job->is_shared(ranges[i].memory, ranges[i].bytes))
      return MUSUBI_ERROR_ADDRESS;
  }
  const Access wanted = writable != 0 ? Access::write : Access::read;
  std::array<AddressRange, 256> part;
  for (std::size_t begin = 0; begin < count; begin += part.size()) {
    const std::size_t length = std::min(part.size(), count - begin);
    for (std::size_t i = 0; i < length; ++i)
      part[i] = range_of(ranges[begin + i].memory, ranges[begin + i].bytes);
    job->runtime.checks().open_all(std::span(part).first(length), wanted);
  }
  return MUSUBI_OK;
}

MUSUBI_EXPORT void musubi_check_read(const volatile void* memory, size_t bytes) {
  check(memory, bytes, [](auto& checks, AddressRange range) { checks.open(range, Access::read); });
}
MUSUBI_EXPORT void musubi_check_write(volatile void* memory, size_t bytes) {
  check(memory, bytes, [](auto& checks, AddressRange range) { checks.open(range, Access::write); });
}
MUSUBI_EXPORT void musubi_check_overwrite(volatile void* memory, size_t bytes) {
  check(memory, bytes, [](auto& checks, AddressRange range) { checks.overwrite(range); });
}
MUSUBI_EXPORT void musubi_check_written(const volatile void* memory, size_t bytes) {
  check(memory, bytes, [](auto& checks, AddressRange range) { checks.written(range); });
}
