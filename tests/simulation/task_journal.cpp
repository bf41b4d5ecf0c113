#include <algorithm>

#include "task_world.h"

namespace musubi::sim {

Task<> TaskJournal::expect_word(Node& node, std::uint32_t task, bool at_end, const char* when) {
  const std::uint64_t number = std::uint64_t{task} * 2 + (at_end ? 1 : 0);
  const std::uint64_t found = co_await load(node, number / words_per_block, number % words_per_block);
  if (found != value(task, at_end)) {
    fail("rank " + std::to_string(node.self().value) + " does not see the " + (at_end ? "end" : "begin") +
         " of task " + std::to_string(task) + ", which ran on rank " + std::to_string(ran_on(task)) + ": " +
         when);
  }
}

Task<> TaskJournal::expect_ended(Node& node, std::uint32_t task, const char* when) {
  const State& state = states_[task];
  if (!state.ended || (plan_.tasks[task].detached && !state.fulfilled)) {
    fail("task " + std::to_string(task) + " has not ended: " + when);
    co_return;
  }
  co_await expect_word(node, task, false, when);
  co_await expect_word(node, task, true, when);
}

Task<> TaskJournal::expect_all_below(Node& node, std::vector<std::uint32_t> ancestors, const char* when) {
  for (std::uint32_t task = 0; task < plan_.tasks.size(); ++task) {
    const bool concerns = std::any_of(ancestors.begin(), ancestors.end(), [&](std::uint32_t ancestor) {
      return plan_.descends_from(task, ancestor);
    });
    if (concerns) co_await expect_ended(node, task, when);
  }
}

Task<> TaskJournal::begin(Node& node, std::uint32_t task) {
  State& state = states_[task];
  if (state.begun) fail("task " + std::to_string(task) + " runs twice");
  state.begun = true;
  state.rank = node.self().value;
  const PlannedTask& planned = plan_.tasks[task];
  for (const std::uint32_t before : planned.predecessors)
    co_await expect_ended(node, before, "before its successor");
  if (planned.parent != PlannedTask::none)
    co_await expect_word(node, planned.parent, false, "in a task that it made");
  const std::uint64_t number = std::uint64_t{task} * 2;
  co_await store(node, number / words_per_block, value(task, false), number % words_per_block);
}

Task<> TaskJournal::end(Node& node, std::uint32_t task) {
  const std::uint64_t number = std::uint64_t{task} * 2 + 1;
  co_await store(node, number / words_per_block, value(task, true), number % words_per_block);
  states_[task].ended = true;
}

}  // namespace musubi::sim
