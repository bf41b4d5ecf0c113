#include "task_world.h"

#include <algorithm>
#include <cstring>

namespace musubi::sim {

using task_stealing::Departure;
using task_stealing::Reported;
using task_stealing::StolenFrom;

TaskRank::TaskRank(Stage& stage, std::uint32_t rank, const TaskPlan& plan, TaskJournal& journal,
                   const Options& options, InjectedBug bug)
    : stage_(stage),
      node_(stage.node(rank)),
      plan_(plan),
      journal_(journal),
      options_(options),
      calls_(node_,
             [&journal](Rank from) {
               journal.fail("rank " + std::to_string(from.value) + " sent a damaged parcel");
             }),
      team_(make_scope(nullptr)) {
  Hooks hooks;
  hooks.inject(bug);
  const Configuration& configuration = stage.cluster().configuration();
  task_stealing::Place place{Rank{rank}, configuration.nodes, {}, configuration.seed + rank};
  for (std::uint32_t peer = 0; peer < configuration.nodes; ++peer) {
    const bool is_near =
        configuration.model.ranks_per_host != 0 && configuration.model.is_one_host(rank, peer);
    if (peer != rank && is_near) place.near.push_back(Rank{peer});
  }
  stealing_ = std::make_unique<task_stealing::Stealing>(
      std::move(place), task_stealing::Habits{true},
      task_stealing::Stealing::Ports{calls_, node_.order(), *this, *this, node_.counters()}, hooks);
  calls_.set_server(stealing_.get());
}

TaskRank::Scope* TaskRank::make_scope(Scope* outer) {
  scopes_.push_back({outer, false, {}, 0});
  return &scopes_.back();
}

TaskRank::Record* TaskRank::make(std::uint32_t index, Record* parent, Scope* scope) {
  records_.push_back({index, parent, scope});
  return &records_.back();
}

bool TaskRank::descends_from(const Record& record, const Record& ancestor) const {
  const Record* at = record.parent;
  while (at != nullptr && at != &ancestor) at = at->parent;
  return at == &ancestor;
}

bool TaskRank::take(const StolenFrom* below, std::span<std::byte> room, Departure& departure) noexcept {
  const auto is_below = [&](const Record* record) {
    const Scope* scope = record->scope;
    while (scope != nullptr && !(scope->is_subtree && scope->from == *below)) scope = scope->outer;
    return scope != nullptr;
  };
  const auto found = std::find_if(ready_.begin(), ready_.end(), [&](const Record* record) {
    return below == nullptr ? !record->is_foreign : is_below(record);
  });
  if (found == ready_.end() || room.size() < sizeof(std::uint32_t)) return false;
  Record& record = **found;
  ready_.erase(found);
  record.is_absent = true;
  std::memcpy(room.data(), &record.index, sizeof record.index);
  departure = {reinterpret_cast<std::uint64_t>(&record), record.epoch, sizeof record.index};
  return true;
}

void TaskRank::put_back(std::uint64_t task) noexcept {
  record_of(task)->is_absent = false;
  ready_.push_front(record_of(task));
}

void TaskRank::arrive(const StolenFrom& from, std::uint64_t below,
                      std::span<const std::byte> image) noexcept {
  std::uint32_t index = 0;
  std::memcpy(&index, image.data(), sizeof index);
  Scope* const scope = make_scope(nullptr);
  scope->is_subtree = true;
  scope->from = from;
  scope->unfinished = 1;
  Record* const record = make(index, below == 0 ? nullptr : record_of(below), scope);
  record->is_foreign = true;
  make_ready(*record);
}

void TaskRank::ended(std::uint64_t task) noexcept {
  Record& record = *record_of(task);
  record.body_ended = true;
  if (!record.is_detached || record.fulfilled) finish(record);
}

void TaskRank::subtree_ended(std::uint64_t task) noexcept {
  record_of(task)->subtree_ended = true;
  leave_if_over(*record_of(task));
}

bool TaskRank::fulfilled(std::uint64_t event) noexcept {
  const auto found = made_.find(static_cast<std::uint32_t>(event));
  if (found == made_.end()) return false;
  Record& record = *found->second;
  record.fulfilled = true;
  if (record.body_ended) finish(record);
  leave_if_over(record);
  return true;
}

void TaskRank::fulfil(std::uint32_t task) {
  journal_.note_fulfilled(task);
  const std::uint32_t rank = journal_.made_on(task);
  if (rank == node_.self().value) {
    (void)fulfilled(task);
  } else {
    stealing_->report({Rank{rank}, task}, Reported::fulfilled);
  }
}

// The task itself has ended: trusts its callers that this is so once.
void TaskRank::finish(Record& record) {
  record.ended = true;
  if (record.is_foreign) return stealing_->report(record.scope->from, Reported::ended);
  if (record.parent->children != 0) --record.parent->children;
  for (Record* next : record.successors) {
    if (next->predecessors != 0 && --next->predecessors == 0) make_ready(*next);
  }
}

void TaskRank::leave_if_over(Record& record) {
  if (!record.ended || !record.subtree_ended || std::exchange(record.left, true)) return;
  if (--record.scope->unfinished == 0 && record.scope->is_subtree)
    stealing_->report(record.scope->from, Reported::subtree_ended);
}

void TaskRank::make_ready(Record& record) {
  if (plan_.tasks[record.index].at_once) return;
  record.epoch = stealing_->epoch();
  ready_.push_back(&record);
  if (stealing_->is_awaited()) stealing_->note_surplus();
}

Task<> TaskRank::create(Record& parent, Scope* scope, std::uint32_t child) {
  Record& record = *make(child, &parent, scope);
  const PlannedTask& planned = plan_.tasks[child];
  record.is_detached = planned.detached;
  made_[child] = &record;
  journal_.note_made(child, node_.self().value);
  ++parent.children;
  ++scope->unfinished;
  for (const std::uint32_t before : planned.predecessors) {
    Record& sibling = *made_.at(before);
    if (sibling.ended) continue;
    sibling.successors.push_back(&record);
    ++record.predecessors;
  }
  if (!planned.at_once) {
    if (record.predecessors == 0) make_ready(record);
    co_return;
  }
  while (record.predecessors != 0 && !journal_.has_failed()) {
    const bool ran = co_await run_one(&parent);
    if (!ran) co_await idle(stage_, options_.think_ns);
  }
  co_await run(record);
}

void TaskRank::want_children_back(const Record& record) {
  if (!options_.waits_for_stolen) return;
  for (Record& child : records_) {
    if (child.parent == &record && child.is_absent && !child.body_ended)
      stealing_->want_back(reinterpret_cast<std::uint64_t>(&child));
  }
}

Task<> TaskRank::wait_for_children(Record& record, const std::vector<std::uint32_t>& children) {
  while (record.children != 0 && !journal_.has_failed()) {
    const bool ran = co_await run_one(&record);
    if (ran) continue;
    want_children_back(record);
    co_await idle(stage_, options_.think_ns);
  }
  for (const std::uint32_t child : children)
    co_await journal_.expect_ended(node_, child, "at a taskwait of its parent");
}

Task<> TaskRank::end_group(Record& record, Scope& scope) {
  while (scope.unfinished != 0 && !journal_.has_failed()) {
    const bool ran = co_await run_one(&record);
    if (ran) continue;
    want_children_back(record);
    co_await idle(stage_, options_.think_ns);
  }
}

Task<bool> TaskRank::run_one(const Record* ancestor) {
  const auto found = std::find_if(ready_.rbegin(), ready_.rend(), [&](const Record* record) {
    return ancestor == nullptr || descends_from(*record, *ancestor);
  });
  if (found == ready_.rend()) co_return false;
  Record& record = **found;
  ready_.erase(std::next(found).base());
  co_await run(record);
  co_return true;
}

Task<> TaskRank::run(Record& record) {
  struct Group {
    Scope* scope;
    std::vector<std::uint32_t> made;
  };
  std::vector<Group> groups{{record.scope, {}}};
  std::vector<std::uint32_t> children;
  co_await journal_.begin(node_, record.index);
  for (const TaskStep& step : plan_.tasks[record.index].steps) {
    if (journal_.has_failed()) break;
    switch (step.kind) {
      case TaskStep::Kind::create:
        children.push_back(step.task);
        for (Group& group : groups) group.made.push_back(step.task);
        co_await create(record, groups.back().scope, step.task);
        break;
      case TaskStep::Kind::wait:
        co_await wait_for_children(record, children);
        break;
      case TaskStep::Kind::begin_group:
        groups.push_back({make_scope(groups.back().scope), {}});
        break;
      case TaskStep::Kind::end_group:
        co_await end_group(record, *groups.back().scope);
        co_await journal_.expect_all_below(node_, groups.back().made, "at the end of a group around it");
        groups.pop_back();
        break;
      case TaskStep::Kind::fulfil:
        fulfil(step.task);
        break;
      case TaskStep::Kind::think:
        co_await idle(stage_, options_.think_ns);
        break;
    }
  }
  co_await journal_.end(node_, record.index);
  if (record.index < plan_.roots) co_return;
  record.subtree_ended = true;  // as far as this record tells: its children count for themselves
  ended(reinterpret_cast<std::uint64_t>(&record));
  leave_if_over(record);
}

Task<> TaskRank::wait_at_end(std::uint32_t number) {
  ++arrived_;
  bool has_come = false;
  std::uint64_t meeting = 0;
  while (!over_ && !journal_.has_failed()) {
    const bool ran = co_await run_one(nullptr);
    if (ran) continue;
    if (number == 0 && !has_come && arrived_ == options_.members && team_->unfinished == 0) {
      has_come = true;
      meeting = co_await stealing_->come();
    }
    if (has_come && stealing_->is_over(meeting)) {
      co_await stealing_->pass_on(meeting);
      over_ = true;
      break;
    }
    ++hungry_;
    stealing_->note_hungry();
    co_await idle(stage_, options_.think_ns);
    --hungry_;
  }
}

// Each member of the rank; the first one also runs the implicit task.
Task<> TaskRank::member(std::uint32_t number) {
  if (number == 0) {
    const auto rank = node_.self().value;
    if (rank == 0 && options_.first_pause_ns != 0) co_await fabric::sim::think(options_.first_pause_ns);
    co_await run(*make(rank, nullptr, team_));
  }
  co_await wait_at_end(number);
  if (journal_.has_failed()) {
    stopped_ = true;
    co_return;
  }
  co_await meet(node_);
  if (number != 0) co_return;
  for (std::uint32_t task = 0; task < plan_.tasks.size(); ++task)
    co_await journal_.expect_ended(node_, task, "after the barrier");
  // A barrier without tasks.
  const std::uint64_t meeting = co_await stealing_->come();
  while (!stealing_->is_over(meeting)) co_await idle(stage_, options_.think_ns);
  co_await stealing_->pass_on(meeting);
  stopped_ = true;
}

Task<> TaskRank::assist() {
  fabric::sim::World& world = stage_.cluster().world();
  while (!stopped_) {
    rung_ = false;
    const std::uint64_t pause_ns = co_await stealing_->turn(world.now_ns());
    const std::uint64_t begin_ns = world.now_ns();
    while (!rung_ && !stopped_ && world.now_ns() - begin_ns < pause_ns)
      co_await fabric::sim::think(options_.think_ns / 4 + 1);
    co_await fabric::sim::think(20);
  }
}

namespace {

struct Job {
  Job(const Configuration& configuration, const TaskPlan& plan, const TaskRank::Options& options,
      InjectedBug bug, std::string* fault)
      : stage(configuration, TaskJournal::blocks(plan)), journal(plan, fault) {
    for (std::uint32_t rank = 0; rank < configuration.nodes; ++rank)
      ranks.emplace_back(stage, rank, plan, journal, options, bug);
    for (std::uint32_t rank = 0; rank < configuration.nodes; ++rank) {
      for (std::uint32_t member = 0; member < options.members; ++member)
        stage.play(rank, ranks[rank].member(member));
      stage.play(rank, ranks[rank].assist());
    }
  }
  Stage stage;
  TaskJournal journal;
  std::deque<TaskRank> ranks;
};

}  // namespace

TaskWorld::Result TaskWorld::play(const Configuration& configuration, const TaskPlan& plan,
                                  const TaskRank::Options& options, InjectedBug bug) {
  Result result;
  auto job = std::make_unique<Job>(configuration, plan, options, bug, &result.fault);
  Stage& stage = job->stage;
  const bool ends = stage.ends_well(5'000'000);
  if (!ends && result.fault.empty()) {
    const std::string& violation = stage.cluster().violation();
    result.fault = violation.empty() ? "no end in sight" : violation;
  }
  for (TaskRank& rank : job->ranks) {
    result.calls += rank.calls();
    if (result.fault.empty() && rank.stealing().absent() != 0) result.fault = "a task is still away";
  }
  result.stolen =
      stage.total(trace::Counter::tasks_stolen_near) + stage.total(trace::Counter::tasks_stolen_far);
  result.pushed = stage.total(trace::Counter::tasks_pushed);
  for (std::uint32_t task = 0; task < plan.tasks.size(); ++task)
    result.ran_on.push_back(job->journal.ran_on(task));
  // After a fault tasks hang in the protocol; taking them apart would trip over its checks.
  if (!result.fault.empty()) (void)job.release();
  return result;
}

}  // namespace musubi::sim
