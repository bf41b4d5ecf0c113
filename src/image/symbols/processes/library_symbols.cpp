// dlopen and its relatives: all ranks get a library that one rank opens (image/start/library_loading.h).
#include <dlfcn.h>

#include "image/libraries/library_handle.h"
#include "image/process/call_as.h"
#include "image/process/real_function.h"
#include "image/start/job.h"
#include "image/start/library_loading.h"
#include "image/symbols/exported.h"

namespace {

using musubi::image::Next;

constinit Next<void* (*)(const char*, int)> next_dlopen{"dlopen"};
constinit Next<void* (*)(Lmid_t, const char*, int)> next_dlmopen{"dlmopen"};
constinit Next<char* (*)()> next_dlerror{"dlerror"};
constinit Next<int (*)(void*)> next_dlclose{"dlclose"};
constinit Next<int (*)(void*, int, void*)> next_dlinfo{"dlinfo"};
constinit Next<void* (*)(void*, const char*, const char*)> next_dlvsym{"dlvsym"};

// Our error message, until the program has asked for it.
constinit thread_local const char* problem_of_thread = nullptr;

void* open_for(const void* caller, const char* path, int flags) {
  musubi::image::Job* const job = musubi::image::current_job();
  problem_of_thread = nullptr;
  // A later lookup would make the C library forget why the program's call failed.
  next_dlerror.get();
  next_dlclose.get();
  next_dlinfo.get();
  if (job == nullptr) return musubi::image::open_as(caller, next_dlopen.get(), path, flags);
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

MUSUBI_EXPORT void* dlsym(void* handle, const char* name) noexcept {
  problem_of_thread = nullptr;
  next_dlerror.get();
  const musubi::image::LookUp look_up = musubi::image::c_library_dlsym();
  void* const known = musubi::image::handle_of_process(handle);
  if (known != RTLD_NEXT && known != RTLD_DEFAULT) return look_up(known, name);
  return musubi::image::look_up_as(__builtin_return_address(0), look_up, known, name);
}

// RTLD_NEXT finds the definition after this library here, which is the one that callers by version want.
MUSUBI_EXPORT void* dlvsym(void* handle, const char* name, const char* version) noexcept {
  problem_of_thread = nullptr;
  next_dlerror.get();
  return next_dlvsym.get()(musubi::image::handle_of_process(handle), name, version);
}

MUSUBI_EXPORT int dlinfo(void* handle, int request, void* result) noexcept {
  problem_of_thread = nullptr;
  return next_dlinfo.get()(musubi::image::handle_of_process(handle), request, result);
}

MUSUBI_EXPORT int dlclose(void* handle) noexcept {
  problem_of_thread = nullptr;
  return next_dlclose.get()(musubi::image::handle_of_process(handle));
}
