#include "image/memory/program_break.h"

#include <errno.h>

#include "image/process/job_words.h"
#include "image/process/refusal.h"

namespace musubi::image {
namespace {

void* const failed = reinterpret_cast<void*>(-1);

}  // namespace

void* ProgramBreak::move(std::intptr_t bytes) noexcept {
  while (true) {
    const std::uint64_t before = runtime_.words().load(Rank{0}, job_words::program_break);
    const std::uint64_t after = before + static_cast<std::uint64_t>(bytes);
    void* const old_end = reinterpret_cast<void*>(range_.begin + before);
    if (bytes == 0) return old_end;
    if (after > range_.bytes) {
      if (bytes > 0) {
        report_refused_call("sbrk was refused: the program's break has reached the end of its range",
                            "raise heap_bytes, of which a sixteenth is for brk, or allocate with mmap");
      }
      errno = ENOMEM;
      return failed;
    }
    // A later growth must find zeros.
    if (after < before) {
      runtime_.memory().store_zeros(reinterpret_cast<void*>(range_.begin + after), before - after);
    }
    if (runtime_.words().compare_swap(Rank{0}, job_words::program_break, before, after) == before)
      return old_end;
  }
}

int ProgramBreak::set(void* end) noexcept {
  const auto now = reinterpret_cast<std::uintptr_t>(move(0));
  return move(static_cast<std::intptr_t>(reinterpret_cast<std::uintptr_t>(end) - now)) == failed ? -1 : 0;
}

}  // namespace musubi::image
