// __tls_get_addr: the address of a library's thread-local data. The dynamic linker allocates the data of a
// library opened later at their first use. They belong to the program: other threads may have their address.
#include <cstddef>
#include <cstdint>

#include "heap/heap.h"
#include "image/start/job.h"
#include "image/symbols/calling_library.h"
#include "image/symbols/exported.h"
#include "os/cpu.h"
#include "runtime/threads/deferred_handlers.h"

namespace {

// Layouts of the ABI and the C library.
struct Place {
  unsigned long module, offset;
};
union Entry {
  std::size_t count;
  struct {
    void* data;
    void* allocated;
  } block;
};

// Whether the linker would allocate nothing; a cheap test, which may err towards false.
bool is_there(std::size_t module) noexcept {
  struct Head {
    void* itself;
    const Entry* entries;  // the count precedes them
  };
  const Entry* const entries = reinterpret_cast<const Head*>(musubi::os::thread_pointer())->entries;
  const void* const none = reinterpret_cast<void*>(-1);
  return module <= entries[-1].count && entries[module].block.data != none &&
         entries[module].block.data != nullptr;
}

}  // namespace

MUSUBI_EXPORT void* __tls_get_addr(Place* place) noexcept {
  static constinit musubi::image::Next<void* (*)(Place*)> next("__tls_get_addr");
  if (is_there(place->module)) return next.get()(place);
  const musubi::image::Job* const job = musubi::image::current_job();
  // The runtime, and libraries that it uses, must not meet a closed page.
  if (job == nullptr || !job->program_runs() || musubi::runtime::DeferredHandlers::is_inside() ||
      musubi::image::is_in_private_library(*job, MUSUBI_CALLER)) {
    return next.get()(place);
  }
  const musubi::heap::Heap::LibraryServed program;
  return next.get()(place);
}
