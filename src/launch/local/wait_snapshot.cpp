#include "launch/local/wait_snapshot.h"

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

}  // namespace musubi::launch
