// dlopen and its relatives: a library that one rank opens is there at all ranks (image/library_loading.h).
#include <dlfcn.h>

#include "image/job.h"
#include "image/library_loading.h"
#include "image/symbols/exported.h"
#include "image/symbols/next_function.h"

namespace {

using musubi::image::Next;

constinit Next<void* (*)(const char*, int)> next_dlopen{"dlopen"};
constinit Next<void* (*)(Lmid_t, const char*, int)> next_dlmopen{"dlmopen"};
constinit Next<char* (*)()> next_dlerror{"dlerror"};

// Ours, until the program has asked for it.
constinit thread_local const char* problem_of_thread = nullptr;

void* open_for(const void* caller, const char* path, int flags) {
  musubi::image::Job* const job = musubi::image::current_job();
  problem_of_thread = nullptr;
  // Finding it later would make the C library forget why the program's call failed.
  next_dlerror.get();
  if (job == nullptr) return musubi::image::call_as(caller, next_dlopen.get(), path, flags);
  return musubi::image::open_library(*job, next_dlopen.get(), caller, path, flags, &problem_of_thread);
}

}  // namespace

MUSUBI_EXPORT void* dlopen(const char* path, int flags) noexcept {
  return open_for(__builtin_return_address(0), path, flags);
}

MUSUBI_EXPORT void* dlmopen(Lmid_t space, const char* path, int flags) noexcept {
  if (space == LM_ID_BASE) return open_for(__builtin_return_address(0), path, flags);
  const musubi::image::Job* const job = musubi::image::current_job();
  if (job == nullptr || job->runtime.ranks() == 1) return next_dlmopen.get()(space, path, flags);
  problem_of_thread =
      "dlmopen is refused by Musubi: a library in a space of its own would not find malloc and OpenMP";
  return nullptr;
}

MUSUBI_EXPORT char* dlerror() noexcept {
  const char* const problem = problem_of_thread;
  if (problem == nullptr) return next_dlerror.get()();
  problem_of_thread = nullptr;
  return const_cast<char*>(problem);
}
