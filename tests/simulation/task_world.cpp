#include "task_world.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace musubi::sim {

using task_stealing::Choice;
using task_stealing::Departure;
using task_stealing::Lineage;
using task_stealing::Origin;
using task_stealing::Reported;

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
      std::move(place), task_stealing::Habits{true, 3 * options.think_ns},
      task_stealing::Stealing::Ports{calls_, node_.order(), *this, *this, node_.counters()}, hooks);
  calls_.set_server(stealing_.get());
  node_.add_assistant();
}

TaskRank::Scope* TaskRank::make_scope(Scope* outer) {
  scopes_.push_back({outer, false, false, {}, {}, 0});
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

const TaskRank::Scope* TaskRank::subtree_around(const Scope* scope) {
  while (scope != nullptr && !scope->is_subtree) scope = scope->outer;
  return scope;
}

bool TaskRank::is_in(const Scope* scope, const Origin& origin) {
  while (scope != nullptr && !(scope->is_subtree && scope->origin == origin)) scope = scope->outer;
  return scope != nullptr;
}

namespace {

struct Image {
  std::uint32_t index;
  Lineage lineage;
};

}  // namespace

std::optional<Rank> TaskRank::giver_of_ready() noexcept {
  for (const Record* record : ready_) {
    if (is_stolen(record->scope)) return subtree_around(record->scope)->origin.home;
  }
  return std::nullopt;
}

bool TaskRank::take(const Choice& choice, std::span<std::byte> room, Departure& departure) noexcept {
  const auto found = std::find_if(ready_.begin(), ready_.end(), [&](const Record* record) {
    if (choice.kind == Choice::Kind::any) return true;
    if (choice.kind == Choice::Kind::below) return is_in(record->scope, choice.origin);
    return is_stolen(record->scope) && subtree_around(record->scope)->origin.home == choice.origin.home;
  });
  if (found == ready_.end() || room.size() < sizeof(Image)) return false;
  Record& record = **found;
  ready_.erase(found);
  Image image{record.index, {}};
  const Scope* const around = subtree_around(record.scope);
  if (around != nullptr) image.lineage = around->lineage;
  departure = {0, std::nullopt, record.epoch, sizeof image};
  if (record.is_foreign) {
    departure.origin = record.scope->origin;
    record.scope->origin = {};  // of no task
  } else {
    if (around != nullptr) image.lineage.add(around->origin);
    departure.task = reinterpret_cast<std::uint64_t>(&record);
    record.is_absent = true;
  }
  std::memcpy(room.data(), &image, sizeof image);
  return true;
}

void TaskRank::come_home(std::uint64_t task) noexcept {
  record_of(task)->is_absent = false;
  ready_.push_front(record_of(task));
}

void TaskRank::arrive(const Origin& origin, std::span<const std::byte> bytes) noexcept {
  Image image;
  std::memcpy(&image, bytes.data(), sizeof image);
  const std::uint64_t number = image.lineage.number_at(node_.self());
  Record* const around = number == 0 ? nullptr : record_of(stealing_->absent_task(number));
  Scope* const scope = make_scope(around == nullptr ? nullptr : around->scope);
  scope->is_subtree = true;
  scope->origin = origin;
  scope->lineage = image.lineage;
  scope->came_back = around != nullptr;
  scope->unfinished = 1;
  Record* const record = make(image.index, around, scope);
  record->is_foreign = true;
  was_hungry_ = false;
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
    stealing_->report({Rank{rank}, 0, task}, Reported::fulfilled);
  }
}

// The task itself has ended: trusts its callers that this is so once.
void TaskRank::finish(Record& record) {
  record.ended = true;
  if (record.is_foreign) return stealing_->report(record.scope->origin, Reported::ended);
  if (record.parent->children != 0) --record.parent->children;
  for (Record* next : record.successors) {
    if (next->predecessors != 0 && --next->predecessors == 0) make_ready(*next);
  }
}

void TaskRank::leave_if_over(Record& record) {
  if (!record.ended || !record.subtree_ended || std::exchange(record.left, true)) return;
  if (--record.scope->unfinished == 0 && record.scope->is_subtree)
    stealing_->report(record.scope->origin, Reported::subtree_ended);
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
  while (record.predecessors != 0 && !journal_.has_failed()) co_await wait_for_descendants(parent);
  co_await run(record);
}

// The member may run what descends from the record, and nothing else.
Task<> TaskRank::wait_for_descendants(Record& record) {
  const bool ran = co_await run_one(&record);
  if (ran) co_return;
  ++waiting_;
  stealing_->want_back([&](std::uint64_t task) { return descends_from(*record_of(task), record); });
  co_await idle(stage_, options_.think_ns);
  if (--waiting_ == 0) stealing_->forget_wishes();
}

Task<> TaskRank::wait_for_children(Record& record, const std::vector<std::uint32_t>& children) {
  while (record.children != 0 && !journal_.has_failed()) co_await wait_for_descendants(record);
  for (const std::uint32_t child : children)
    co_await journal_.expect_ended(node_, child, "at a taskwait of its parent");
}

Task<> TaskRank::end_group(Record& record, Scope& scope) {
  while (scope.unfinished != 0 && !journal_.has_failed()) co_await wait_for_descendants(record);
}

Task<bool> TaskRank::run_one(const Record* ancestor) {
  const auto found = std::find_if(ready_.rbegin(), ready_.rend(), [&](const Record* record) {
    if (leaves_stolen_ && is_stolen(record->scope)) return false;
    return ancestor == nullptr || descends_from(*record, *ancestor);
  });
  if (found == ready_.rend()) co_return false;
  Record& record = **found;
  ready_.erase(std::next(found).base());
  const bool stolen = record.is_foreign && is_stolen(record.scope);
  if (stolen) stealing_->work_begins();
  if (options_.stalls) node_.counters().add(trace::Counter::fault_ns, 100 * options_.think_ns);
  co_await run(record);
  if (stolen) stealing_->work_ends(1000);
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
      case TaskStep::Kind::barrier:
        co_await pass_barrier();
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

Task<> TaskRank::sleep_hungry() {
  ++hungry_;
  was_hungry_ = true;
  stealing_->note_hungry();
  co_await idle(stage_, options_.think_ns);
  --hungry_;
}

// All other members are in help().
Task<> TaskRank::pass_barrier() {
  std::optional<std::uint64_t> meeting;
  while (!journal_.has_failed() && !(meeting && stealing_->is_over(*meeting))) {
    const bool ran = co_await run_one(nullptr);
    if (ran) continue;
    if (!meeting && team_->unfinished == 0) {
      meeting = co_await stealing_->come();
    } else {
      co_await sleep_hungry();
    }
  }
  if (journal_.has_failed()) co_return;
  is_open_ = false;
  co_await stealing_->pass_on(*meeting);
  co_await meet(node_);
  is_open_ = true;
  stealing_->note_open();
}

Task<> TaskRank::help() {
  while (!over_ && !journal_.has_failed()) {
    const bool ran = co_await run_one(nullptr);
    if (!ran) co_await sleep_hungry();
  }
}

// Each member of the rank; the first one runs the implicit task.
Task<> TaskRank::member(std::uint32_t number) {
  if (number != 0) {
    co_await help();
    co_return;
  }
  if (node_.self() == Rank{0} && options_.first_pause_ns != 0)
    co_await fabric::sim::think(options_.first_pause_ns);
  co_await run(*make(node_.self().value, nullptr, team_));
  co_await pass_barrier();
  for (std::uint32_t task = 0; task < plan_.tasks.size() && !journal_.has_failed(); ++task)
    co_await journal_.expect_ended(node_, task, "after the barrier");
  co_await pass_barrier();  // without tasks
  over_ = stopped_ = true;
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
  static auto& hanging = *new std::vector<std::unique_ptr<Job>>;
  if (!result.fault.empty()) hanging.push_back(std::move(job));
  return result;
}

}  // namespace musubi::sim
