// Events of constructs, for a tool that listens (omp/ompt has the interface of the specification). Without
// one, each costs a load and a predictable branch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace musubi::omp {

struct Task;
struct ImplicitTask;
struct LoopSpecification;
struct Dependence;

namespace events {

// What the listener keeps for a task, and for a region as this rank sees it. In memory of this process.
struct TaskNote;
struct RegionNote;

enum class ThreadKind : std::uint8_t { initial, worker };
enum class Sync : std::uint8_t {
  explicit_barrier,
  end_of_loop,    // the implicit barrier of a work-sharing construct
  end_of_region,  // the implicit barrier of a region
  internal,       // a barrier that no construct has
  taskwait,
  taskgroup,
  reduction,
};
enum class Mutex : std::uint8_t { lock, test_lock, nest_lock, test_nest_lock, critical, atomic, ordered };
enum class Work : std::uint8_t {
  loop_static,
  loop_dynamic,
  loop_guided,
  loop_other,
  sections,
  single_executor,
  single_other,
  workshare,
  distribute,
  taskloop,
  scope,
};
enum class Cancelled : std::uint8_t { region, sections, loop, taskgroup };
enum class CancelStep : std::uint8_t { activated, detected, task_dropped };

struct MadeTask {
  bool deferred;  // may be
  bool final;
  bool untied;
  bool detachable;
};

// All functions: on the thread that has the event, where code of the program may run.
class Listener {
 public:
  virtual void thread_begins(ThreadKind kind) noexcept = 0;
  virtual void thread_ends() noexcept = 0;

  // The calling task opens a region, or this rank begins to serve one that was opened at `call_site`.
  // `threads`: as the construct asks for. Result: for region_ends.
  virtual RegionNote* region_begins(std::uint32_t threads, std::uint32_t size,
                                    const void* call_site) noexcept = 0;
  virtual void region_ends(RegionNote* region) noexcept = 0;
  // The calling thread has entered the region, or leaves it: its current task is `task`.
  virtual void member_begins(ImplicitTask& task) noexcept = 0;
  virtual void member_ends(ImplicitTask& task) noexcept = 0;
  // The function with this frame calls the code of the current task; null: the code has returned.
  virtual void code_runs(const void* frame) noexcept = 0;

  // Result: to pass to sync_ends. A wait begins and ends with the region unless `waits` is false.
  virtual const void* sync_begins(Sync kind, bool waits) noexcept = 0;
  virtual void sync_ends(Sync kind, bool waits, const void* begun) noexcept = 0;

  // The wait at the end of a task group whose begin did not wait.
  virtual void group_waits() noexcept = 0;

  // The calling task makes a task. Result: its note.
  virtual TaskNote* task_made(const MadeTask& made, const Dependence* dependences,
                              std::size_t count) noexcept = 0;
  // The calling thread begins, or has ended, the function of `task`, on top of the task before.
  virtual void task_starts(Task& task) noexcept = 0;
  virtual void task_returns(Task& task) noexcept = 0;
  // A task has ended whose function ran before its event came, or on another rank, or not at all.
  virtual void task_over(TaskNote* note) noexcept = 0;

  virtual void mutex_wanted(Mutex kind, std::uint64_t id, std::uint32_t hint) noexcept = 0;
  virtual void mutex_taken(Mutex kind, std::uint64_t id) noexcept = 0;
  virtual void mutex_given_back(Mutex kind, std::uint64_t id) noexcept = 0;
  // The owner of a nestable lock takes it once more, or gives one level back.
  virtual void nested(bool takes, std::uint64_t id) noexcept = 0;
  virtual void lock_made(Mutex kind, std::uint64_t id, std::uint32_t hint) noexcept = 0;
  virtual void lock_destroyed(Mutex kind, std::uint64_t id) noexcept = 0;

  // A thread has at most one of these open; the next one, a barrier or the end of the region ends it, too.
  virtual void work_begins(Work kind, std::uint64_t count) noexcept = 0;
  virtual void work_ends() noexcept = 0;
  // Iterations, by value of the loop variable, or the number of a section (`iterations` is 0).
  virtual void chunk(std::uint64_t start, std::uint64_t iterations) noexcept = 0;
  virtual void masked(bool begins) noexcept = 0;
  virtual void flush() noexcept = 0;
  virtual void cancel(Cancelled construct, CancelStep step) noexcept = 0;
  virtual void error(bool fatal, std::string_view text) noexcept = 0;
  // omp_control_tool.
  virtual int control(std::uint64_t command, std::uint64_t modifier, void* argument) noexcept = 0;

  // Before the process leaves the job: ends the listening.
  virtual void finish() noexcept = 0;

  // Whether the tool's data is the program's, and so shared by the ranks.
  virtual bool is_of_program() const noexcept = 0;

 protected:
  ~Listener() = default;
};

// Whether a tool listens, and the listener once there is one. Global, as the thread's state, because the
// interfaces of OpenMP carry no handle.
extern constinit bool heard;
extern constinit Listener* listener;
// Starts the tool that was found, on a thread of the program; null: none was found, or it has been started.
using StartOfTool = void (*)();
extern constinit StartOfTool start_of_tool;

inline bool are_heard() noexcept {
  return __builtin_expect(heard, 0) != 0;
}

void start_tool_now();
inline void start_tool() {
  if (__builtin_expect(start_of_tool != nullptr, 0)) start_tool_now();
}

// The program's newest call into the runtime, noted as long as a tool listens.
struct Entry {
  const void* frame = nullptr;  // of the function that was called
  const void* call_site = nullptr;
};
extern constinit thread_local Entry entry;

void note_heard_entry(const void* frame, const void* call_site) noexcept;
inline void note_entry(const void* frame, const void* call_site) noexcept {
  if (are_heard()) note_heard_entry(frame, call_site);
}

inline void thread_begins(ThreadKind kind) noexcept {
  if (are_heard()) listener->thread_begins(kind);
}
inline void thread_ends() noexcept {
  if (are_heard()) listener->thread_ends();
}
inline const void* call_site() noexcept {
  return are_heard() ? entry.call_site : nullptr;
}
inline RegionNote* region_begins(std::uint32_t threads, std::uint32_t size, const void* call_site) noexcept {
  return are_heard() ? listener->region_begins(threads, size, call_site) : nullptr;
}
inline void region_ends(RegionNote* region) noexcept {
  if (are_heard() && region != nullptr) listener->region_ends(region);
}
inline void member_begins(ImplicitTask& task) noexcept {
  if (are_heard()) listener->member_begins(task);
}
inline void member_ends(ImplicitTask& task) noexcept {
  if (are_heard()) listener->member_ends(task);
}
inline void code_runs(const void* frame) noexcept {
  if (are_heard()) listener->code_runs(frame);
}

// A synchronisation during its scope.
class SyncScope {
 public:
  explicit SyncScope(Sync kind) noexcept : kind_(kind), heard_(are_heard()) {
    if (heard_) begun_ = listener->sync_begins(kind, true);
  }
  SyncScope(const SyncScope&) = delete;
  SyncScope& operator=(const SyncScope&) = delete;
  ~SyncScope() {
    if (__builtin_expect(heard_, 0) && are_heard()) listener->sync_ends(kind_, true, begun_);
  }

 private:
  const Sync kind_;
  const bool heard_;
  const void* begun_ = nullptr;
};

inline const void* group_begins() noexcept {
  return are_heard() ? listener->sync_begins(Sync::taskgroup, false) : nullptr;
}
inline void group_waits() noexcept {
  if (are_heard()) listener->group_waits();
}
inline void group_ends(const void* begun) noexcept {
  if (are_heard()) listener->sync_ends(Sync::taskgroup, true, begun);
}
inline TaskNote* task_made(const MadeTask& made, const Dependence* dependences, std::size_t count) noexcept {
  return are_heard() ? listener->task_made(made, dependences, count) : nullptr;
}
inline void task_starts(Task& task) noexcept {
  if (are_heard()) listener->task_starts(task);
}
inline void task_returns(Task& task) noexcept {
  if (are_heard()) listener->task_returns(task);
}
inline void task_over(TaskNote* note) noexcept {
  if (are_heard() && note != nullptr) listener->task_over(note);
}

inline void mutex_wanted(Mutex kind, const void* id, std::uint32_t hint = 0) noexcept {
  if (are_heard()) listener->mutex_wanted(kind, reinterpret_cast<std::uintptr_t>(id), hint);
}
inline void mutex_taken(Mutex kind, const void* id) noexcept {
  if (are_heard()) listener->mutex_taken(kind, reinterpret_cast<std::uintptr_t>(id));
}
inline void mutex_given_back(Mutex kind, const void* id) noexcept {
  if (are_heard()) listener->mutex_given_back(kind, reinterpret_cast<std::uintptr_t>(id));
}
inline void nested(bool takes, const void* id) noexcept {
  if (are_heard()) listener->nested(takes, reinterpret_cast<std::uintptr_t>(id));
}
inline void lock_made(Mutex kind, const void* id, std::uint32_t hint = 0) noexcept {
  if (are_heard()) listener->lock_made(kind, reinterpret_cast<std::uintptr_t>(id), hint);
}
inline void lock_destroyed(Mutex kind, const void* id) noexcept {
  if (are_heard()) listener->lock_destroyed(kind, reinterpret_cast<std::uintptr_t>(id));
}

inline void work_begins(Work kind, std::uint64_t count) noexcept {
  if (are_heard()) listener->work_begins(kind, count);
}
void heard_loop_begins(const LoopSpecification& loop) noexcept;
inline void loop_begins(const LoopSpecification& loop) noexcept {
  if (are_heard()) heard_loop_begins(loop);
}
inline void work_ends() noexcept {
  if (are_heard()) listener->work_ends();
}
void heard_chunk(const ImplicitTask& task) noexcept;
// The thread has got the chunk in `task.loop`.
inline void chunk(const ImplicitTask& task) noexcept {
  if (are_heard()) heard_chunk(task);
}
inline void masked(bool begins) noexcept {
  if (are_heard()) listener->masked(begins);
}
inline void flush() noexcept {
  if (are_heard()) listener->flush();
}
inline void cancel(Cancelled construct, CancelStep step) noexcept {
  if (are_heard()) listener->cancel(construct, step);
}
inline void error(bool fatal, std::string_view text) noexcept {
  if (are_heard()) listener->error(fatal, text);
}
inline bool tool_is_of_program() noexcept {
  return are_heard() && listener->is_of_program();
}
inline void finish() noexcept {
  if (are_heard()) listener->finish();
}

}  // namespace events
}  // namespace musubi::omp
