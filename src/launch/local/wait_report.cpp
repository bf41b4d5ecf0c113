#include "launch/local/wait_report.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <set>

namespace musubi::launch {
namespace {

using trace::Wait;

std::string hexadecimal(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "%#lx", static_cast<unsigned long>(value));
  return text;
}

// The target of a file descriptor of a process: a path, "pipe:[...]", "socket:[...]".
std::string file_name(pid_t process, unsigned long file) {
  char name[256];
  const std::string link = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(file);
  const ssize_t length = ::readlink(link.c_str(), name, sizeof name);
  return length > 0 ? std::string(name, static_cast<std::size_t>(length)) : "file " + std::to_string(file);
}

// Describes the system call in which a thread sleeps.
std::string kernel_wait(pid_t process, const std::string& call) {
  long number = -1;
  unsigned long first = 0;
  if (std::sscanf(call.c_str(), "%ld %lx", &number, &first) != 2) return "";
  switch (number) {
    case SYS_read:
    case SYS_readv:
    case SYS_pread64:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_accept4:
    case SYS_accept:
      return "waits for input from " + file_name(process, first);
    case SYS_write:
    case SYS_writev:
    case SYS_sendto:
    case SYS_sendmsg:
      return "waits until it can write to " + file_name(process, first);
    case SYS_fcntl:
    case SYS_flock:
      return "waits for a lock of " + file_name(process, first);
    case SYS_poll:
    case SYS_ppoll:
    case SYS_select:
    case SYS_pselect6:
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
      return "waits for files (poll, select)";
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
      return "sleeps for a time";
    case SYS_futex:
      return "waits for another thread of its process, or for one to end";
    case SYS_wait4:
    case SYS_waitid:
      return "waits for a process that it has started";
    case SYS_pause:
    case SYS_rt_sigsuspend:
    case SYS_rt_sigtimedwait:
      return "waits for a signal";
    default:
      return "sleeps in system call " + std::to_string(number);
  }
}

class Report {
 public:
  Report(const std::vector<RankState>& ranks, const FindPlaces& find_places)
      : ranks_(ranks), find_places_(find_places) {}

  // `host`: where the ranks `shown` run; empty: all ranks run on this host.
  std::string write(RankRange shown, const std::string& host) {
    const std::string place = host.empty() ? "" : " on " + host;
    for (const RankState& rank : ranks_) {
      if (!shown.holds(rank.rank)) continue;
      places_ = find_places_ ? find_places_(rank.process) : nullptr;
      text_ += "\n  rank " + std::to_string(rank.rank.value) + " (pid " + std::to_string(rank.process) +
               place + ")";
      if (rank.threads.empty()) text_ += " has not joined the job";
      for (const ThreadState& thread : rank.threads) {
        text_ += "\n    " + name(thread) + " " + doing(rank, thread);
        if (thread.call_site != 0 && thread.wait != Wait::region) {
          text_ += (thread.wait == Wait::nothing ? "; its last call was at " : ", at ") +
                   code(thread.call_site - 1);
        }
        if (thread.task == 0) continue;
        text_ += "; it is in a task, " + code(thread.task) +
                 ", which runs before its creator continues, so an event that the creator causes later never "
                 "happens";
      }
      if (rank.without_record != 0) {
        text_ += "\n    and " + std::to_string(rank.without_record) + " threads more";
      }
    }
    return std::move(text_);
  }

 private:
  static std::string name(const ThreadState& thread) {
    if (thread.team_size != 0) return "thread " + std::to_string(thread.team_number);
    return "thread (tid " + std::to_string(thread.thread_id) + ")";
  }
  std::string code(std::uint64_t address) { return places_ ? places_->code(address) : hexadecimal(address); }
  std::string data(std::uint64_t address) {
    const std::string known = places_ ? places_->data(address) : "";
    return known.empty() ? hexadecimal(address) : known;
  }

  std::string doing(const RankState& rank, const ThreadState& thread) {
    if (thread.stopped) {
      return "is stopped; `kill -CONT " + std::to_string(rank.process) + "` lets it go on" +
             (thread.wait == Wait::nothing ? "" : ". It " + waiting(rank, thread));
    }
    return waiting(rank, thread);
  }

  std::string waiting(const RankState& rank, const ThreadState& thread) {
    switch (thread.wait) {
      case Wait::nothing: {
        const std::string sleep = thread.sleeps ? kernel_wait(rank.process, thread.kernel_call) : "";
        return sleep.empty() ? "runs" : sleep;
      }
      case Wait::region:
        return "waits for a parallel region";
      case Wait::barrier:
        return "waits at a barrier; " + missing(thread, Wait::barrier);
      case Wait::join:
        return "waits for the end of the parallel region; " + missing(thread, Wait::join);
      case Wait::lock:
        return "waits for " + lock(thread);
      case Wait::numbered_lock:
        return "waits for lock " + std::to_string(thread.object) + holders_of(thread.object);
      case Wait::single:
        return "waits for the end of a single that another thread runs";
      case Wait::turn:
        return "waits for its turn in an ordered region (iteration " + std::to_string(thread.object) + ")";
      case Wait::iteration:
        return "waits for an iteration that it depends on";
      case Wait::reduction:
        return "waits in a reduction, for rank " + std::to_string(thread.object);
      case Wait::loop:
        return "waits for the end of a loop that other threads are still in";
      case Wait::tasks:
        return "waits for tasks that its task made or depends on";
      case Wait::condition:
        return "waits for condition variable " + data(thread.address);
      case Wait::signal:
        return "waits for a signal of condition " + std::to_string(thread.object);
      case Wait::once:
        return "waits for an initialisation that another thread has begun";
      case Wait::flag:
        return "flushes again and again, and nothing comes";
      case Wait::atomic:
        return "looks again and again at atomic " + data(thread.address) + ", which does not change";
      case Wait::yield:
        return "yields again and again, and nothing comes";
      case Wait::peer:
        return "waits for an answer of another rank";
    }
    return "waits";
  }

  std::string lock(const ThreadState& thread) {
    constexpr std::uint64_t unnamed_critical = 0, atomic = 1;
    std::string what = "lock " + data(thread.address);
    const std::string_view critical = ".gomp_critical_user_";
    if (thread.address == 0 && thread.object == unnamed_critical) what = "a critical section without a name";
    if (thread.address == 0 && thread.object == atomic) what = "an atomic construct";
    if (const auto at = what.find(critical); at != std::string::npos) {
      what = "critical section " + what.substr(at + critical.size());
    }
    return what + holders_of(thread.object);
  }

  // ", held by thread 0 of rank 1".
  std::string holders_of(std::uint64_t lock) {
    std::string holders;
    for (const RankState& rank : ranks_) {
      for (const ThreadState& other : rank.threads) {
        if (std::find(other.held.begin(), other.held.end(), lock) == other.held.end()) continue;
        holders += (holders.empty() ? ", held by " : " and ") + name(other) + " of rank " +
                   std::to_string(rank.rank.value);
      }
    }
    return holders.empty() ? ", whose holder is not known" : holders;
  }

  // The members of the team that do not wait for the same event.
  std::string missing(const ThreadState& thread, Wait wait) {
    std::set<std::uint32_t> absent;
    for (std::uint32_t number = 0; number < thread.team_size; ++number) absent.insert(number);
    for (const RankState& rank : ranks_) {
      for (const ThreadState& other : rank.threads) {
        if (other.team_size == 0) continue;
        if (other.wait == wait) absent.erase(other.team_number);
      }
    }
    if (wait == Wait::join) {  // a member that has ended its part is in no region any more
      std::set<std::uint32_t> inside;
      for (const RankState& rank : ranks_) {
        for (const ThreadState& other : rank.threads) {
          if (other.team_size != 0 && other.wait != wait) inside.insert(other.team_number);
        }
      }
      absent = inside;
    }
    if (absent.empty()) return "no thread is missing";
    std::string text = absent.size() == 1 ? "missing: thread" : "missing: threads";
    std::size_t listed = 0;
    for (const std::uint32_t number : absent) {
      if (++listed > 16) return text + " and more";
      text += " " + std::to_string(number);
    }
    return text;
  }

  const std::vector<RankState>& ranks_;
  const FindPlaces& find_places_;
  std::unique_ptr<Places> places_;
  std::string text_;
};

}  // namespace

std::string wait_report(const std::string& heading, const std::vector<RankState>& ranks,
                        const FindPlaces& find_places) {
  const RankRange all{0, static_cast<std::uint32_t>(-1)};
  return heading + Report(ranks, find_places).write(all, "");
}

std::string wait_lines(const std::vector<RankState>& ranks, RankRange shown, const std::string& host,
                       const FindPlaces& find_places) {
  return Report(ranks, find_places).write(shown, host);
}

std::string backtrace_lines(const std::vector<std::uintptr_t>& frames, pid_t process,
                            const FindPlaces& find_places) {
  const std::unique_ptr<Places> places = find_places ? find_places(process) : nullptr;
  std::string text;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const std::uintptr_t instruction = i == 0 ? frames[i] : frames[i] - 1;
    text += "\n  #" + std::to_string(i) + " " + hexadecimal(frames[i]);
    if (places) text += " in " + places->code(instruction);
  }
  return text;
}

}  // namespace musubi::launch
