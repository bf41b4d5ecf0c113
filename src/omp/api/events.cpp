// Events of detachable tasks.
#include "omp/entry.h"
#include "omp/tasks.h"

extern "C" {

MUSUBI_EXPORT void omp_fulfill_event(musubi::omp::EventHandle event) {
  MUSUBI_OMP_ENTRY();
  musubi::omp::fulfil_task_event(event);
}
MUSUBI_EXPORT void omp_fulfill_event_(const musubi::omp::EventHandle* event) {
  MUSUBI_OMP_ENTRY();
  musubi::omp::fulfil_task_event(*event);
}

}  // extern "C"
