#include "image/objects/processor_times.h"

#include <sys/syscall.h>
#include <sys/time.h>

#include <algorithm>

#include "os/clock.h"
#include "os/system_call.h"

namespace musubi::image {
namespace {

constexpr std::uint64_t kept_for_ns = 1'000'000;

struct Kept {
  std::uint64_t until_ns = 0;
  rusage used{};
};
thread_local Kept kept_of_processes, kept_of_children;

}  // namespace

void add(rusage& sum, const rusage& other) noexcept {
  timeradd(&sum.ru_utime, &other.ru_utime, &sum.ru_utime);
  timeradd(&sum.ru_stime, &other.ru_stime, &sum.ru_stime);
  sum.ru_maxrss = std::max(sum.ru_maxrss, other.ru_maxrss);
  for (const auto count : {&rusage::ru_minflt, &rusage::ru_majflt, &rusage::ru_inblock, &rusage::ru_oublock,
                           &rusage::ru_nvcsw, &rusage::ru_nivcsw}) {
    sum.*count += other.*count;
  }
}

void ProcessorTimes::start(runtime::Runtime& runtime) {
  runtime_ = &runtime;
  calls_.start(runtime, procedures::processor_times, *this);
}

rusage ProcessorTimes::of_others(int who) noexcept {
  Kept& kept = who == RUSAGE_CHILDREN ? kept_of_children : kept_of_processes;
  const std::uint64_t now_ns = os::monotonic_ns();
  if (now_ns < kept.until_ns) return kept.used;
  rusage sum{};
  for (std::uint32_t rank = 0; rank < runtime_->ranks(); ++rank) {
    if (Rank{rank} == runtime_->self()) continue;
    rusage used{};
    calls_.at<&ProcessorTimes::used_here>(Rank{rank}, who, used);
    add(sum, used);
  }
  kept = {now_ns + kept_for_ns, sum};
  return sum;
}

int ProcessorTimes::used_here(int who, rusage& used) noexcept {
  return static_cast<int>(os::system_call(SYS_getrusage, who, os::as_argument(&used)));
}

}  // namespace musubi::image
