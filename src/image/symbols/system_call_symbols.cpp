// The wrappers of system_calls.def.
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysinfo.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <time.h>
#include <wchar.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <type_traits>

#include "image/fork.h"
#include "image/real_function.h"
#include "image/streams.h"
#include "image/symbols/kernel_access.h"
#include "image/symbols/user_signals.h"

namespace musubi::image {
namespace {

// A block that was opened may be closed again by another thread's synchronisation before the kernel gets to
// it.
constexpr int attempts_max = 16;

template <class Value>
bool has_failed(Value value) {
  if constexpr (std::is_pointer_v<Value>) {
    return value == nullptr;
  } else {
    return value == static_cast<Value>(-1);
  }
}

template <class Value>
Value failure() {
  if constexpr (std::is_pointer_v<Value>) {
    return nullptr;
  } else {
    return static_cast<Value>(-1);
  }
}

template <class Accesses, class Call>
auto call_with_access(int attempts, Accesses name_accesses, Call call) {
  Job* const job = job_of_memory();
  if (job == nullptr) return call();
  while (true) {
    KernelAccess access(*job);
    const int kept_errno = errno;
    name_accesses(access);
    errno = kept_errno;
    if (access.bad_file()) {
      errno = EBADF;
      return failure<decltype(call())>();
    }
    const auto result = call();
    if (--attempts <= 0 || !has_failed(result) || errno != EFAULT || !access.met_shared()) return result;
  }
}

}  // namespace

// The wrappers bear names of their own in C++, so that they need not agree with every header about
// exceptions.
#define MUSUBI_WRAP(result, name, parameters, arguments, accesses, attempts)                         \
  namespace {                                                                                        \
  using Type_of_##name = result parameters;                                                          \
  constinit Type_of_##name* next_##name = nullptr;                                                   \
  }                                                                                                  \
  extern "C" __attribute__((visibility("default"))) result wrapped_##name parameters __asm__(#name); \
  extern "C" result wrapped_##name parameters {                                                      \
    if (next_##name == nullptr) {                                                                    \
      next_##name = reinterpret_cast<Type_of_##name*>(next_definition(#name));                       \
    }                                                                                                \
    return call_with_access(                                                                         \
        attempts, [&]([[maybe_unused]] KernelAccess& access) { accesses; },                          \
        [&] { return next_##name arguments; });                                                      \
  }
#define MUSUBI_CALL(result, name, parameters, arguments, accesses) \
  MUSUBI_WRAP(result, name, parameters, arguments, accesses, attempts_max)
#define MUSUBI_CALL_ONCE(result, name, parameters, arguments, accesses) \
  MUSUBI_WRAP(result, name, parameters, arguments, accesses, 1)
#define MUSUBI_CALL_64(result, name, parameters, arguments, accesses) \
  MUSUBI_CALL(result, name, parameters, arguments, accesses)          \
  MUSUBI_CALL(result, name##64, parameters, arguments, accesses)
#include "image/symbols/system_calls.def"
#undef MUSUBI_CALL
#undef MUSUBI_CALL_ONCE
#undef MUSUBI_CALL_64
#undef MUSUBI_WRAP

namespace {

// Looking a function up takes locks of the dynamic linker: not in a signal handler, hence here. The lookups
// at the first call serve the constructors of libraries that come before this one.
__attribute__((constructor)) void find_next_definitions() {
#define MUSUBI_CALL(result, name, parameters, arguments, accesses) \
  next_##name = reinterpret_cast<Type_of_##name*>(next_definition(#name));
#define MUSUBI_CALL_ONCE MUSUBI_CALL
#define MUSUBI_CALL_64(result, name, parameters, arguments, accesses) \
  MUSUBI_CALL(result, name, parameters, arguments, accesses)          \
  MUSUBI_CALL(result, name##64, parameters, arguments, accesses)
#include "image/symbols/system_calls.def"
}

}  // namespace
}  // namespace musubi::image
