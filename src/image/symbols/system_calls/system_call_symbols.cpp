// The wrappers of system_calls.def.
#include <asm/prctl.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/times.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>
#include <wchar.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdarg>
#include <string_view>
#include <type_traits>

#include "image/objects/streams.h"
#include "image/process/real_function.h"
#include "image/start/job.h"
#include "image/symbols/exported.h"
#include "image/symbols/far_functions.h"
#include "image/symbols/kernel_access.h"
#include "image/symbols/numbered_calls.h"
#include "image/symbols/processes/user_signals.h"
#include "os/signal_calls.h"
#include "os/system_call.h"

namespace musubi::image {
namespace {

// Synchronisation of another thread may close a block again before the kernel accesses it.
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

template <class Value>
Value failure_without_function() {
  errno = ENOSYS;
  return failure<Value>();
}

// `far`: makes the call if one of its files is on another host.
template <class Accesses, class Call, class Far>
auto call_with_access(int attempts, Accesses name_accesses, Call call, Far far) {
  using Result = decltype(call());
  Job* const job = job_of_memory();
  if (job == nullptr) return call();
  while (true) {
    KernelAccess access(*job);
    const int kept_errno = errno;
    name_accesses(access);
    errno = kept_errno;
    if (access.bad_file()) {
      errno = EBADF;
      return failure<Result>();
    }
    if (access.far()) {
      const std::int64_t result = call_far(*job, access, far(), name_accesses);
      if constexpr (std::is_pointer_v<Result>) {
        return failure<Result>();
      } else {
        return static_cast<Result>(result);
      }
    }
    const auto result = call();
    if (--attempts <= 0 || !has_failed(result) || errno != EFAULT || !access.met_shared()) return result;
  }
}

// Each function's number for requests of other hosts.
enum Number : std::uint16_t {
#define MUSUBI_CALL(result, name, parameters, arguments, accesses) number_##name,
#define MUSUBI_CALL_ONCE MUSUBI_CALL
#define MUSUBI_CALL_64(result, name, parameters, arguments, accesses) number_##name, number_##name##64,
#define MUSUBI_KERNEL(name, parameters, accesses) number_of_kernel_##name,
#include "image/symbols/system_calls/system_calls.def"
#undef MUSUBI_CALL
#undef MUSUBI_CALL_ONCE
#undef MUSUBI_CALL_64
#undef MUSUBI_KERNEL
  number_count
};

// Translates the process id that the program knows to this process's, because its memory is here.
pid_t process_here(pid_t process) noexcept {
  return job_addressed_by(process) == nullptr ? process : static_cast<pid_t>(os::system_call(SYS_getpid));
}

long call_kernel(long number, const std::uint64_t* words) {
  const auto word = [words](int i) { return static_cast<long>(words[i]); };
  return as_call(os::system_call(number, word(0), word(1), word(2), word(3), word(4), word(5)));
}

template <class... Arguments>
FarCall far_call(std::uint16_t number, const Arguments&... arguments) noexcept {
  if constexpr (sizeof...(Arguments) <= FarCall::arguments_max) {
    const std::array<std::uint64_t, sizeof...(Arguments)> words{to_word(arguments)...};
    return {number, words};
  } else {
    return {number, {}};
  }
}

}  // namespace

// The memory and files that a call uses, given its arguments.
#define MUSUBI_ACCESSES(name, parameters, accesses)                  \
  namespace {                                                        \
  auto accesses_of_##name parameters {                               \
    return [=]([[maybe_unused]] KernelAccess& access) { accesses; }; \
  }                                                                  \
  }

// The wrappers have C++ names of their own, so that they need not repeat each header's exception
// specification.
#define MUSUBI_WRAP(result, name, parameters, arguments, accesses, attempts)                            \
  MUSUBI_ACCESSES(name, parameters, accesses)                                                           \
  namespace {                                                                                           \
  using Type_of_##name = result parameters;                                                             \
  constinit Type_of_##name* next_##name = nullptr;                                                      \
  constexpr int attempts_of_##name = attempts;                                                          \
  }                                                                                                     \
  extern "C" __attribute__((visibility("default"))) result wrapped_##name parameters __asm__(#name);    \
  extern "C" result wrapped_##name parameters {                                                         \
    if (next_##name == nullptr) {                                                                       \
      next_##name = reinterpret_cast<Type_of_##name*>(next_definition(#name));                          \
      if (next_##name == nullptr) return failure_without_function<result>();                            \
    }                                                                                                   \
    const auto with_arguments = [](const auto&... given) { return far_call(number_##name, given...); }; \
    return call_with_access(                                                                            \
        attempts, [&]([[maybe_unused]] KernelAccess& access) { accesses; },                             \
        [&] { return next_##name arguments; }, [&] { return with_arguments arguments; });               \
  }
#define MUSUBI_CALL(result, name, parameters, arguments, accesses) \
  MUSUBI_WRAP(result, name, parameters, arguments, accesses, attempts_max)
#define MUSUBI_CALL_ONCE(result, name, parameters, arguments, accesses) \
  MUSUBI_WRAP(result, name, parameters, arguments, accesses, 1)
#define MUSUBI_CALL_64(result, name, parameters, arguments, accesses) \
  MUSUBI_CALL(result, name, parameters, arguments, accesses)          \
  MUSUBI_CALL(result, name##64, parameters, arguments, accesses)
#define MUSUBI_KERNEL(name, parameters, accesses)      \
  MUSUBI_ACCESSES(kernel_##name, parameters, accesses) \
  namespace {                                          \
  using Type_of_kernel_##name = long parameters;       \
  }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-function"
#include "image/symbols/system_calls/system_calls.def"
#pragma GCC diagnostic pop
#undef MUSUBI_CALL
#undef MUSUBI_CALL_ONCE
#undef MUSUBI_CALL_64
#undef MUSUBI_KERNEL
#undef MUSUBI_ACCESSES
#undef MUSUBI_WRAP

namespace {

template <class Type, Type** function>
constexpr FarFunction far_function() {
  FarFunction result;
  if constexpr (Travelling<Type>::possible) {
    result.run = [](const std::uint64_t* words) noexcept { return Travelling<Type>::call(*function, words); };
  }
  return result;
}

std::int64_t control_far_file(const std::uint64_t* words) noexcept {
  return ::fcntl(static_cast<int>(words[0]), static_cast<int>(words[1]), words[2]);
}
std::int64_t request_of_far_file(const std::uint64_t* words) noexcept {
  return ::ioctl(static_cast<int>(words[0]), words[1], words[2]);
}
std::int64_t entries_of_far_folder(const std::uint64_t* words) noexcept {
  return ::syscall(SYS_getdents64, words[0], words[1], words[2]);
}

constexpr auto make_far_functions() {
  std::array<FarFunction, number_count + 3> result{
#define MUSUBI_CALL(result, name, parameters, arguments, accesses) \
  far_function<Type_of_##name, &next_##name>(),
#define MUSUBI_CALL_ONCE MUSUBI_CALL
#define MUSUBI_CALL_64(result, name, parameters, arguments, accesses) \
  MUSUBI_CALL(result, name, parameters, arguments, accesses)          \
  MUSUBI_CALL(result, name##64, parameters, arguments, accesses)
#define MUSUBI_KERNEL(name, parameters, accesses) FarFunction{},
#include "image/symbols/system_calls/system_calls.def"
#undef MUSUBI_CALL
#undef MUSUBI_CALL_ONCE
#undef MUSUBI_CALL_64
#undef MUSUBI_KERNEL
      FarFunction{&control_far_file}, FarFunction{&request_of_far_file}, FarFunction{&entries_of_far_folder}};
  for (const Number number : {number_read, number___read_chk, number_recv, number___recv_chk, number_pread,
                              number_pread64, number___pread_chk, number___pread64_chk}) {
    result[number].transfer = FarFunction::Transfer::reading;
  }
  for (const Number number : {number_write, number_send, number_pwrite, number_pwrite64}) {
    result[number].transfer = FarFunction::Transfer::writing;
  }
  for (const Number number : {number_pread, number_pread64, number___pread_chk, number___pread64_chk,
                              number_pwrite, number_pwrite64}) {
    result[number].has_offset = true;
  }
  for (std::uint16_t number = 0; number < number_count; ++number) result[number].with_one_piece = number;
  result[number_readv].with_one_piece = number_read;
  result[number_writev].with_one_piece = number_write;
  result[number_preadv].with_one_piece = number_pread;
  result[number_preadv64].with_one_piece = number_pread64;
  result[number_pwritev].with_one_piece = number_pwrite;
  result[number_pwritev64].with_one_piece = number_pwrite64;
  return result;
}

}  // namespace

std::span<const FarFunction> far_functions() noexcept {
  static constexpr auto functions = make_far_functions();
  return functions;
}

std::uint16_t far_number(OwnWrapper function) noexcept {
  return static_cast<std::uint16_t>(number_count + static_cast<int>(function));
}

namespace {

// The value of a number defined in the kernel's headers; -1: not defined.
constexpr int number_in(std::string_view text) {
  int number = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9') return -1;
    number = 10 * number + (digit - '0');
  }
  return number;
}

struct NumberedCall {
  using Words = std::array<std::uint64_t, FarCall::arguments_max>;
  long (*run)(long number, const Words& words) = nullptr;
};

template <class Type>
struct ByNumber {
  template <auto, int, std::uint16_t>
  static constexpr void add(int, auto&) {}
};
template <class Result, class... Parameters>
  requires(sizeof...(Parameters) <= FarCall::arguments_max && (travels<Parameters> && ...))
struct ByNumber<Result(Parameters...)> {
  template <auto accesses_of, int attempts, std::uint16_t far_number>
  static long run(long number, const NumberedCall::Words& words) {
    const auto accesses = [&]<std::size_t... i>(std::index_sequence<i...>) {
      return accesses_of(from_word<Parameters>(words[i])...);
    }(std::index_sequence_for<Parameters...>());
    return call_with_access(
        attempts, accesses, [&] { return call_kernel(number, words.data()); },
        [&] {
          return FarCall{far_number, std::span(words).first(sizeof...(Parameters))};
        });
  }
  template <auto accesses_of, int attempts, std::uint16_t far_number>
  static constexpr void add(int number, auto& calls) {
    if (number >= 0) calls[static_cast<std::size_t>(number)].run = &run<accesses_of, attempts, far_number>;
  }
};

#define MUSUBI_TEXT(name) #name
#define MUSUBI_VALUE(name) MUSUBI_TEXT(name)
#define MUSUBI_CALL(result, name, parameters, arguments, accesses)                       \
  ByNumber<Type_of_##name>::add<&accesses_of_##name, attempts_of_##name, number_##name>( \
      number_in(MUSUBI_VALUE(SYS_##name)), calls);
#define MUSUBI_CALL_ONCE MUSUBI_CALL
#define MUSUBI_CALL_64(result, name, parameters, arguments, accesses) \
  MUSUBI_CALL(result, name, parameters, arguments, accesses)          \
  MUSUBI_CALL(result, name##64, parameters, arguments, accesses)
#define MUSUBI_KERNEL(name, parameters, accesses)                                                          \
  ByNumber<Type_of_kernel_##name>::add<&accesses_of_kernel_##name, attempts_max, number_of_kernel_##name>( \
      number_in(MUSUBI_VALUE(SYS_##name)), calls);
constexpr auto make_numbered_calls() {
  std::array<NumberedCall, 512> calls{};
#include "image/symbols/system_calls/system_calls.def"
  return calls;
}
#undef MUSUBI_CALL
#undef MUSUBI_CALL_ONCE
#undef MUSUBI_CALL_64
#undef MUSUBI_KERNEL

}  // namespace

long call_by_number(long number, const long* given) noexcept {
  static constexpr auto calls = make_numbered_calls();
  const auto place = static_cast<std::size_t>(number);
  NumberedCall::Words words;
  std::copy_n(given, words.size(), words.begin());
  if (place >= calls.size() || calls[place].run == nullptr) return call_kernel(number, words.data());
  return calls[place].run(number, words);
}

namespace {

// A lookup takes locks of the dynamic linker, which is impossible in a signal handler: hence at the start.
// The lookups at first use serve constructors of libraries that run before this one.
__attribute__((constructor)) void find_next_definitions() {
#define MUSUBI_CALL(result, name, parameters, arguments, accesses) \
  next_##name = reinterpret_cast<Type_of_##name*>(next_definition(#name));
#define MUSUBI_CALL_ONCE MUSUBI_CALL
#define MUSUBI_CALL_64(result, name, parameters, arguments, accesses) \
  MUSUBI_CALL(result, name, parameters, arguments, accesses)          \
  MUSUBI_CALL(result, name##64, parameters, arguments, accesses)
#define MUSUBI_KERNEL(name, parameters, accesses)
#include "image/symbols/system_calls/system_calls.def"
}

}  // namespace
}  // namespace musubi::image
