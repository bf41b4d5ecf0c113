#include "launch/local/thread_states.h"

#include <algorithm>
#include <cstdio>
#include <fstream>

namespace musubi::launch {
namespace {

void ask_kernel(pid_t process, ThreadState& thread) {
  const std::string folder =
      "/proc/" + std::to_string(process) + "/task/" + std::to_string(thread.thread_id) + "/";
  std::string line;
  std::getline(std::ifstream(folder + "stat"), line);
  // After the name, which may contain anything: state, then after 10 more fields the ticks in user and kernel
  // mode.
  const std::size_t name_end = line.rfind(')');
  char state = 0;
  unsigned long user = 0, kernel = 0;
  if (name_end == std::string::npos ||
      std::sscanf(line.c_str() + name_end + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &state,
                  &user, &kernel) != 3) {
    return;
  }
  thread.stopped = state == 'T' || state == 't';
  thread.sleeps = state == 'S' || state == 'D' || state == 'T';
  thread.processor_ticks = user + kernel;
  std::getline(std::ifstream(folder + "syscall"), thread.kernel_call);
}

ThreadState read_record(Rank rank, const trace::WaitRecord& record) {
  constexpr auto relaxed = std::memory_order_relaxed;
  ThreadState state;
  state.rank = rank;
  state.thread_id = record.thread_id.load(relaxed);
  state.wait = record.wait.load(relaxed);
  state.object = record.object.load(relaxed);
  state.address = record.address.load(relaxed);
  state.call_site = record.call_site.load(relaxed);
  state.task = record.task.load(relaxed);
  state.moves = record.moves.load(relaxed);
  state.looks = record.looks.load(relaxed);
  state.team_number = record.team_number.load(relaxed);
  state.team_size = record.team_size.load(relaxed);
  for (const auto& held : record.held) {
    if (const std::uint32_t lock = held.load(relaxed); lock != 0) state.held.push_back(lock - 1);
  }
  return state;
}

using trace::Wait;

// The state of one thread at two times.
bool stands(const ThreadState& now, const ThreadState& before) {
  if (now.thread_id != before.thread_id || now.wait != before.wait || now.moves != before.moves ||
      now.object != before.object || now.address != before.address) {
    return false;
  }
  if (now.stopped) return before.stopped;
  // A thread that has neither polled nor run between them is still about to poll.
  if (trace::is_spin(now.wait)) {
    return now.looks != before.looks || now.processor_ticks == before.processor_ticks;
  }
  if (now.wait == Wait::nothing) return now.sleeps && now.processor_ticks == before.processor_ticks;
  return true;
}

bool stand(const std::vector<RankState>& now, const std::vector<RankState>& before) {
  return std::equal(now.begin(), now.end(), before.begin(), before.end(),
                    [](const RankState& rank, const RankState& earlier) {
                      return rank.rank == earlier.rank && rank.without_record == 0 &&
                             std::equal(rank.threads.begin(), rank.threads.end(), earlier.threads.begin(),
                                        earlier.threads.end(), stands);
                    });
}

bool waits_for_others(const ThreadState& thread) {
  return thread.wait != Wait::nothing && thread.wait != Wait::region;
}

bool any_waits_for_others(const std::vector<RankState>& ranks) {
  return std::any_of(ranks.begin(), ranks.end(), [](const RankState& rank) {
    return std::any_of(rank.threads.begin(), rank.threads.end(), waits_for_others);
  });
}

}  // namespace

std::vector<RankState> take_snapshot(const WaitBoards& boards, const std::vector<pid_t>& processes,
                                     const std::function<void()>& after_each) {
  std::vector<RankState> ranks;
  for (std::uint32_t number = 0; number < processes.size(); ++number) {
    if (processes[number] == 0) continue;
    const trace::WaitBoard& board = boards[Rank(number)];
    RankState rank{Rank(number), processes[number], board.without_record.load(std::memory_order_relaxed), {}};
    const std::size_t count =
        std::min<std::size_t>(board.records.load(std::memory_order_relaxed), trace::WaitBoard::records_max);
    for (std::size_t i = 0; i < count; ++i) {
      ThreadState thread = read_record(Rank(number), board.threads[i]);
      if (thread.thread_id == 0) continue;
      ask_kernel(rank.process, thread);
      rank.threads.push_back(std::move(thread));
      after_each();
    }
    ranks.push_back(std::move(rank));
  }
  return ranks;
}

StallWatch::StallWatch(std::chrono::nanoseconds patience)
    : patience_ns_(static_cast<std::uint64_t>(patience.count())) {
  if (patience_ns_ != 0) due_ns_ = 0;
}

bool StallWatch::look(std::uint64_t now_ns, std::vector<RankState> now) {
  constexpr std::uint64_t shortest_ns = 50'000'000, longest_ns = 5'000'000'000;
  due_ns_ = now_ns + std::clamp(patience_ns_ / 4, shortest_ns, longest_ns);
  const bool still = any_waits_for_others(now) && stand(now, before_);
  before_ = std::move(now);
  if (!still) {
    since_ns_ = now_ns;
    reported_ = false;
    return false;
  }
  if (reported_ || now_ns - since_ns_ < patience_ns_) return false;
  return reported_ = true;
}

std::string StallWatch::heading() const {
  char text[80];
  std::snprintf(text, sizeof text, "musubi: nothing has moved for %g s; the job goes on waiting:",
                static_cast<double>(patience_ns_) * 1e-9);
  return text;
}

}  // namespace musubi::launch
