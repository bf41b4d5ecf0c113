#include "image/threads/carried_thread.h"

#include <sys/syscall.h>

#include <algorithm>

#include "os/signal_calls.h"
#include "os/system_call.h"

namespace musubi::image {
namespace {

// The C library reports all processors, existing or not, if the program has set none.
bool chooses_processors(const cpu_set_t& processors) {
  cpu_set_t all;
  std::fill_n(reinterpret_cast<unsigned char*>(&all), sizeof all, 0xff);
  return !CPU_EQUAL(&processors, &all);
}

CarriedAttributes carried(const pthread_attr_t& given) {
  CarriedAttributes result;
  int inherits = PTHREAD_INHERIT_SCHED;
  ::pthread_attr_getdetachstate(&given, &result.detach_state);
  ::pthread_attr_getinheritsched(&given, &inherits);
  ::pthread_attr_getschedpolicy(&given, &result.policy);
  ::pthread_attr_getschedparam(&given, &result.parameters);
  result.schedules_itself = inherits == PTHREAD_EXPLICIT_SCHED;
  result.has_processors =
      ::pthread_attr_getaffinity_np(&given, sizeof result.processors, &result.processors) == 0 &&
      chooses_processors(result.processors);
  result.has_mask = ::pthread_attr_getsigmask_np(&given, &result.mask) == 0;
  return result;
}

}  // namespace

// Bounds of the section, defined by the linker.
extern "C" __attribute__((visibility("hidden"))) const char __start_musubi_thread_work[];
extern "C" __attribute__((visibility("hidden"))) const char __stop_musubi_thread_work[];

// thrd_join(3) takes the status from the pointer that pthread_join(3) returns.
[[gnu::noinline, gnu::section("musubi_thread_work")]] void* ThreadWork::run() const {
  void* result = nullptr;
  if (is_standard) {
    const auto standard = reinterpret_cast<thrd_start_t>(code);
    result = reinterpret_cast<void*>(static_cast<std::uintptr_t>(standard(argument)));
  } else {
    result = reinterpret_cast<ThreadStart>(code)(argument);
  }
  asm volatile("" : "+r"(result));  // a call, not a jump
  return result;
}

AddressRange ThreadWork::code_of_run() noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(__start_musubi_thread_work);
  return {begin, reinterpret_cast<std::uintptr_t>(__stop_musubi_thread_work) - begin};
}

CarriedThread CarriedThread::from_here(const ThreadWork& work, const pthread_attr_t* attributes,
                                       std::uint64_t channel) {
  CarriedThread result;
  result.work = work;
  result.channel = channel;
  if (attributes != nullptr) result.attributes = carried(*attributes);
  result.inherited = omp::state_of_this_thread();
  result.modes = os::floating_point_modes();
  return result;
}

void CarriedThread::fill(pthread_attr_t& made) const {
  ::pthread_attr_init(&made);
  ::pthread_attr_setdetachstate(&made, attributes.detach_state);
  if (!attributes.schedules_itself) return;
  ::pthread_attr_setinheritsched(&made, PTHREAD_EXPLICIT_SCHED);
  ::pthread_attr_setschedpolicy(&made, attributes.policy);
  ::pthread_attr_setschedparam(&made, &attributes.parameters);
}

void CarriedThread::take_over() const {
  omp::take_over_state(inherited);
  if (attributes.schedules_itself)
    os::system_call(SYS_sched_setscheduler, 0, attributes.policy, os::as_argument(&attributes.parameters));
  if (attributes.has_processors) {
    os::system_call(SYS_sched_setaffinity, 0, sizeof attributes.processors,
                    os::as_argument(&attributes.processors));
  }
  os::set_floating_point_modes(modes);
  if (attributes.has_mask) os::set_signal_mask(SIG_SETMASK, os::signal_bits(attributes.mask));
}

}  // namespace musubi::image
