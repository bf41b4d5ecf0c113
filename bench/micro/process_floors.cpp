#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdint>
#include <functional>
#include <new>

#include "floors.h"

namespace musubi::bench {
namespace {

// A sample is the mean of this many operations: reading the clock alone costs a tenth of the shortest.
constexpr std::size_t operations_per_sample = 64;
constexpr std::size_t warm_up_samples = 16;

using Word = std::atomic<std::uint32_t>;

void futex_wait(Word& word, std::uint32_t seen) {
  syscall(SYS_futex, &word, FUTEX_WAIT, seen, nullptr, nullptr, 0);
}

void futex_wake_all(Word& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

struct Patience {
  int spins, yields;
};

// Returns once `word` differs from `seen`; sleeps when patience has run out. `sleepers` tells the process
// that changes the word whether to wake any.
void wait_for_change(Word& word, Word& sleepers, std::uint32_t seen, Patience patience) {
  for (int i = 0; i < patience.spins; i++) {
    if (word.load(std::memory_order_acquire) != seen) return;
    __builtin_ia32_pause();
  }
  for (int i = 0; i < patience.yields; i++) {
    if (word.load(std::memory_order_acquire) != seen) return;
    sched_yield();
  }
  sleepers.fetch_add(1);
  while (word.load() == seen) futex_wait(word, seen);
  sleepers.fetch_sub(1);
}

struct Barrier {
  alignas(64) Word arrived{0};
  alignas(64) Word phase{0};
  alignas(64) Word sleepers{0};

  void arrive(std::uint32_t members, Patience patience) {
    const std::uint32_t seen = phase.load(std::memory_order_acquire);
    if (arrived.fetch_add(1) + 1 < members) return wait_for_change(phase, sleepers, seen, patience);
    arrived.store(0, std::memory_order_relaxed);
    phase.fetch_add(1);
    if (sleepers.load() != 0) futex_wake_all(phase);
  }
};

// A ticket lock: fair, so that two contending processes alternate at every release.
struct Mutex {
  alignas(64) Word next{0};
  alignas(64) Word serving{0};
  alignas(64) Word sleepers{0};

  // Returns the ticket, counted from 0 over all processes.
  std::uint32_t lock(Patience patience) {
    const std::uint32_t mine = next.fetch_add(1);
    for (std::uint32_t seen = serving.load(); seen != mine; seen = serving.load()) {
      wait_for_change(serving, sleepers, seen, patience);
    }
    return mine;
  }
  void unlock() {
    serving.fetch_add(1);
    if (sleepers.load() != 0) futex_wake_all(serving);
  }
};

struct Shared {
  Barrier start;
  Barrier barrier;
  Mutex mutex;
  double released_ns = 0;
  double samples[1];  // as many samples as rounds; written by rank 0
};

std::vector<int> allowed_cores() {
  cpu_set_t set;
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; core++) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

void pin(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  sched_setaffinity(0, sizeof set, &set);
}

// The work of one member, which fills `samples`; only those of rank 0 count.
using Body = std::function<void(Shared&, double* samples, std::size_t rounds)>;

// Members get `cores` round-robin; without cores the kernel places them.
bool run_members(Shared& shared, int members, const std::vector<int>& cores, std::size_t rounds,
                 const Body& body) {
  std::vector<pid_t> children;
  const pid_t parent = getpid();
  for (int rank = 0; rank < members; rank++) {
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(1);
      if (!cores.empty()) pin(cores[static_cast<std::size_t>(rank) % cores.size()]);
      std::vector<double> discarded(rounds);
      shared.start.arrive(static_cast<std::uint32_t>(members), Patience{0, 50});
      body(shared, rank == 0 ? shared.samples : discarded.data(), rounds);
      _exit(0);
    }
    if (child > 0) children.push_back(child);
  }
  // A missing or dead member would leave the remaining members waiting for ever.
  bool whole = children.size() == static_cast<std::size_t>(members);
  if (!whole) std::for_each(children.begin(), children.end(), [](pid_t child) { kill(child, SIGKILL); });
  for (const pid_t child : children) {
    int status = 0;
    whole = waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0 && whole;
  }
  return whole;
}

enum class Placement { pinned, free };

// Measures a step that all members do together, on the first two cores, or wherever the kernel puts them.
Row measure(const char* name, int members, std::size_t rounds, const Body& body,
            Placement placement = Placement::pinned) {
  std::vector<int> cores = allowed_cores();
  if (cores.size() < 2) return summarize(name, {});
  cores.resize(placement == Placement::pinned ? 2 : 0);
  const std::size_t bytes = sizeof(Shared) + rounds * sizeof(double);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return summarize(name, {});
  auto* shared = new (memory) Shared;
  std::vector<double> samples;
  if (run_members(*shared, members, cores, rounds, body)) {
    samples.assign(shared->samples, shared->samples + rounds);
  }
  munmap(memory, bytes);
  return summarize(name, std::move(samples));
}

Row barrier_floor(const char* name, std::uint32_t members, std::size_t rounds, Patience patience,
                  Placement placement = Placement::pinned) {
  const auto body = [members, patience](Shared& shared, double* samples, std::size_t count) {
    for (std::size_t i = 0; i < count + warm_up_samples; i++) {
      const double start = now_ns();
      for (std::size_t k = 0; k < operations_per_sample; k++) shared.barrier.arrive(members, patience);
      if (i >= warm_up_samples) samples[i - warm_up_samples] = (now_ns() - start) / operations_per_sample;
    }
  };
  return measure(name, static_cast<int>(members), rounds, body, placement);
}

// From the release by one process to the return of the other's lock. The owner releases only after the other
// process has been waiting for `hold_ns`, so that zero patience really means sleep.
Row mutex_floor(const char* name, std::size_t rounds, Patience patience, double hold_ns) {
  const auto body = [patience, hold_ns](Shared& shared, double* samples, std::size_t count) {
    Mutex& mutex = shared.mutex;
    for (std::size_t i = 0; i < count; i++) {
      const std::uint32_t ticket = mutex.lock(patience);
      samples[i] = now_ns() - shared.released_ns;
      const bool last = ticket + 1 == 2 * count;
      while (!last && mutex.next.load() == ticket + 1) sched_yield();
      for (const double start = now_ns(); now_ns() - start < hold_ns;) __builtin_ia32_pause();
      shared.released_ns = now_ns();
      mutex.unlock();
    }
  };
  return measure(name, 2, rounds, body);
}

}  // namespace

Row spin_barrier_floor(std::size_t rounds) {
  return barrier_floor("barrier: 2 processes on 2 cores, spinning", 2, rounds, Patience{100000, 0});
}

std::vector<Row> yielding_barrier_floors(std::size_t rounds) {
  const Patience patience{0, 50};
  return {barrier_floor("barrier: 4 processes on 2 cores, yield then futex", 4, rounds, patience),
          barrier_floor("barrier: 4 processes not pinned, yield then futex", 4, rounds, patience,
                        Placement::free)};
}

std::vector<Row> mutex_floors(std::size_t rounds) {
  return {mutex_floor("mutex: handed between 2 processes, spin then futex", rounds, Patience{2000, 0}, 500),
          mutex_floor("mutex: handed between 2 processes, futex only", rounds, Patience{0, 0}, 10000)};
}

std::vector<Row> some_floors(std::string_view part, std::size_t rounds) {
  if (part == "faults") return fault_floors(rounds);
  if (part == "spin_barrier") return {spin_barrier_floor(rounds)};
  if (part == "yielding_barrier") return yielding_barrier_floors(rounds);
  if (part == "mutex") return mutex_floors(rounds);
  return {};
}

std::vector<Row> all_floors(std::size_t rounds) {
  std::vector<Row> rows;
  for (const std::string_view part : {"faults", "spin_barrier", "yielding_barrier", "mutex"}) {
    for (Row& row : some_floors(part, rounds)) rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace musubi::bench
