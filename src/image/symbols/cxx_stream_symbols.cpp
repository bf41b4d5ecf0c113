// std::ios_base::sync_with_stdio. Unsynchronised, the standard streams of C++ have buffers in memory of each
// process, and where all ranks map one memory (docs/decisions/one_memory.md) the streams are one: they stay
// synchronised there, which is slower and prints the same.
#include "image/job.h"
#include "image/symbols/exported.h"
#include "image/symbols/next_function.h"

namespace {

constinit musubi::image::Next<bool (*)(bool)> next_synchronise("_ZNSt8ios_base15sync_with_stdioEb");

}  // namespace

// Result: whether they were.
MUSUBI_EXPORT bool wrapped_synchronise(bool wanted) __asm__("_ZNSt8ios_base15sync_with_stdioEb");
bool wrapped_synchronise(bool wanted) {
  const musubi::image::Job* const job = musubi::image::current_job();
  if (job != nullptr && job->runtime.ranks() > 1 && job->runtime.memory().is_one()) return true;
  return next_synchronise.get()(wanted);
}
