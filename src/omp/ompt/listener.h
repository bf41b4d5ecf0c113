// Turns events into calls of the tool.
#pragma once

#include "omp/ompt/notes.h"

namespace musubi::omp::ompt {

class ToolListener final : public events::Listener {
 public:
  // `tool`: has been initialised.
  ToolListener(ompt_start_tool_result_t& tool, bool is_of_program)
      : tool_(tool), is_of_program_(is_of_program) {}

  void thread_begins(events::ThreadKind kind) noexcept override;
  void thread_ends() noexcept override;
  RegionNote* region_begins(std::uint32_t threads, std::uint32_t size,
                            const void* call_site) noexcept override;
  void region_ends(RegionNote* region) noexcept override;
  void member_begins(ImplicitTask& task) noexcept override;
  void member_ends(ImplicitTask& task) noexcept override;
  void code_runs(const void* frame) noexcept override;

  const void* sync_begins(events::Sync kind, bool waits) noexcept override;
  void sync_ends(events::Sync kind, bool waits, const void* begun) noexcept override;
  void group_waits() noexcept override;
  TaskNote* task_made(const events::MadeTask& made, const Dependence* dependences,
                      std::size_t count) noexcept override;
  void task_starts(Task& task) noexcept override;
  void task_returns(Task& task) noexcept override;
  void task_over(TaskNote* note) noexcept override;
  void mutex_wanted(events::Mutex kind, std::uint64_t id, std::uint32_t hint) noexcept override;
  void mutex_taken(events::Mutex kind, std::uint64_t id) noexcept override;
  void mutex_given_back(events::Mutex kind, std::uint64_t id) noexcept override;
  void nested(bool takes, std::uint64_t id) noexcept override;
  void lock_made(events::Mutex kind, std::uint64_t id, std::uint32_t hint) noexcept override;
  void lock_destroyed(events::Mutex kind, std::uint64_t id) noexcept override;

  void work_begins(events::Work kind, std::uint64_t count) noexcept override;
  void work_ends() noexcept override;
  void chunk(std::uint64_t start, std::uint64_t iterations) noexcept override;
  void masked(bool begins) noexcept override;
  void flush() noexcept override;
  void cancel(events::Cancelled construct, events::CancelStep step) noexcept override;
  void error(bool fatal, std::string_view text) noexcept override;
  int control(std::uint64_t command, std::uint64_t modifier, void* argument) noexcept override;

  void finish() noexcept override;
  bool is_of_program() const noexcept override { return is_of_program_; }

 private:
  ompt_start_tool_result_t& tool_;
  const bool is_of_program_;
};

// The state of a thread that runs code of the program.
ompt_state_t working_state();

}  // namespace musubi::omp::ompt
