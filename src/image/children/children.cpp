#include "image/children/children.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>

#include "image/process/call_result.h"
#include "image/process/job_words.h"
#include "os/clock.h"
#include "os/system_call.h"

namespace musubi::image {
namespace {

// Polling intervals for children of other ranks.
constexpr std::uint64_t first_pause_ns = 200'000;
constexpr std::uint64_t pause_max_ns = 10'000'000;

std::uint64_t bit_of(Rank rank) noexcept {
  return std::uint64_t{1} << std::min(rank.value, 63u);
}

bool has_come(std::int64_t result, bool with_information, const siginfo_t& information) noexcept {
  return with_information ? result == 0 && information.si_pid != 0 : result > 0;
}

}  // namespace

void Children::start(runtime::Runtime& runtime) {
  runtime_ = &runtime;
  process_ = static_cast<pid_t>(os::system_call(SYS_getpid));
  calls_.start(runtime, procedures::children, *this);
}

bool Children::is_this_process() const noexcept {
  return os::system_call(SYS_getpid) == process_;
}

void Children::note_child() noexcept {
  if (runtime_->ranks() == 1) return;
  std::uint64_t known = runtime_->words().load(Rank{0}, job_words::ranks_with_children);
  while ((known & bit_of(runtime_->self())) == 0) {
    const std::uint64_t before = runtime_->words().compare_swap(Rank{0}, job_words::ranks_with_children,
                                                                known, known | bit_of(runtime_->self()));
    if (before == known) return;
    known = before;
  }
}

bool Children::may_be_elsewhere(pid_t process) noexcept {
  if (runtime_->ranks() == 1) return false;
  if (process > 0) {
    siginfo_t nothing{};
    return os::system_call(SYS_waitid, P_PID, process, reinterpret_cast<long>(&nothing),
                           WEXITED | WNOHANG | WNOWAIT, 0) != 0;
  }
  const std::uint64_t makers = runtime_->words().load(Rank{0}, job_words::ranks_with_children);
  return (makers & ~bit_of(runtime_->self())) != 0;
}

std::int64_t Children::look(const Question& question, Found& found) noexcept {
  if (question.with_information) {
    found.information.si_pid = 0;
    return os::system_call(SYS_waitid, question.type, question.process,
                           reinterpret_cast<long>(&found.information), question.options, 0);
  }
  return os::system_call(SYS_wait4, question.process, reinterpret_cast<long>(&found.status), question.options,
                         reinterpret_cast<long>(&found.usage));
}

std::int64_t Children::look_everywhere(Question question, Found& found) noexcept {
  const bool waits = (question.options & WNOHANG) == 0;
  question.options |= WNOHANG;
  for (std::uint64_t pause_ns = first_pause_ns;; pause_ns = std::min(2 * pause_ns, pause_max_ns)) {
    std::int64_t result = look(question, found);
    bool any = result != -ECHILD;
    for (std::uint32_t rank = 0; rank < runtime_->ranks(); ++rank) {
      if (has_come(result, question.with_information, found.information)) return result;
      if (Rank{rank} == runtime_->self()) continue;
      result = calls_.at<&Children::look>(Rank{rank}, question, found);
      any |= result != -ECHILD;
    }
    if (has_come(result, question.with_information, found.information)) return result;
    if (!any) return -ECHILD;
    if (result < 0 && result != -ECHILD) return result;
    if (!waits) return 0;
    os::sleep_ns(pause_ns);
  }
}

pid_t Children::wait(pid_t process, int* status, int options, struct rusage* usage) noexcept {
  const Question question{false, P_ALL, process, options};
  Found found{};
  const std::int64_t result = look_everywhere(question, found);
  if (result < 0) return fail(static_cast<int>(-result));
  if (result > 0 && status != nullptr) *status = found.status;
  if (result > 0 && usage != nullptr) *usage = found.usage;
  return static_cast<pid_t>(result);
}

int Children::wait(idtype_t type, id_t id, siginfo_t* information, int options) noexcept {
  const Question question{true, type, static_cast<std::int32_t>(id), options};
  Found found{};
  const std::int64_t result = look_everywhere(question, found);
  if (result < 0) return fail(static_cast<int>(-result));
  if (information != nullptr) *information = found.information;
  return 0;
}

}  // namespace musubi::image
