// Events of detached tasks, which are refused.
#include "omp/entry.h"
#include "omp/job.h"

namespace {

[[noreturn]] void refuse() {
  musubi::omp::unsupported("omp_fulfill_event", "let the task wait for its event itself, without detach");
}

}  // namespace

extern "C" {

MUSUBI_EXPORT void omp_fulfill_event() {
  refuse();
}
MUSUBI_EXPORT void omp_fulfill_event_() {
  refuse();
}

}  // extern "C"
