// A simulated job that runs a plan of tasks: the tasks of each rank, its members and its assistant, over the
// real protocols of stealing and coherence. Each task must run once, after its predecessors, and find their
// bytes; nothing may end early.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim_calls.h"
#include "stage.h"
#include "task_plan.h"
#include "task_stealing/lineage.h"
#include "task_stealing/stealing.h"

namespace musubi::sim {

// Each task writes two words: one at its beginning, one at its end.
class TaskJournal {
 public:
  TaskJournal(const TaskPlan& plan, std::string* fault)
      : plan_(plan), fault_(fault), states_(plan.tasks.size()) {}

  static constexpr std::uint64_t words_per_block = stage_block_bytes / 8;
  static std::uint64_t blocks(const TaskPlan& plan) { return plan.tasks.size() * 2 / words_per_block + 1; }

  Task<> begin(Node& node, std::uint32_t task);
  Task<> end(Node& node, std::uint32_t task);
  // The event of a task is fulfilled, or needs not be.
  void note_fulfilled(std::uint32_t task) { states_[task].fulfilled = true; }
  // The task has ended, and its bytes are here.
  Task<> expect_ended(Node& node, std::uint32_t task, const char* when);
  Task<> expect_all_below(Node& node, std::vector<std::uint32_t> ancestors, const char* when);
  void fail(std::string text) {
    if (fault_->empty()) *fault_ = std::move(text);
  }
  bool has_failed() const { return !fault_->empty(); }
  std::uint32_t ran_on(std::uint32_t task) const { return states_[task].rank; }
  // Where its event is.
  void note_made(std::uint32_t task, std::uint32_t rank) { states_[task].made_on = rank; }
  std::uint32_t made_on(std::uint32_t task) const { return states_[task].made_on; }

 private:
  struct State {
    bool begun = false;
    bool ended = false;
    bool fulfilled = false;
    std::uint32_t rank = 0;
    std::uint32_t made_on = 0;
  };
  static std::uint64_t value(std::uint32_t task, bool at_end) { return task * 2 + (at_end ? 2u : 1u); }
  Task<> expect_word(Node& node, std::uint32_t task, bool at_end, const char* when);

  const TaskPlan& plan_;
  std::string* const fault_;
  std::vector<State> states_;
};

// The tasks of one rank.
class TaskRank final : public task_stealing::LocalTasks, private task_stealing::Bell {
 public:
  struct Options {
    // Tasks come to a rank whose thread has begun to wait for others in the meantime.
    bool old_hunger = false;
    std::uint32_t members = 1;
    std::uint64_t think_ns = 3000;
    std::uint64_t first_pause_ns = 0;  // of the implicit task of rank 0
  };
  TaskRank(Stage& stage, std::uint32_t rank, const TaskPlan& plan, TaskJournal& journal,
           const Options& options, InjectedBug bug);
  TaskRank(const TaskRank&) = delete;

  Task<> member(std::uint32_t number);
  Task<> assist();

  task_stealing::Stealing& stealing() { return *stealing_; }
  std::uint64_t calls() const { return calls_.asked(); }

 private:
  struct Scope {
    Scope* outer = nullptr;
    bool is_subtree = false;
    task_stealing::Origin origin;    // of a subtree
    task_stealing::Lineage lineage;  // of its task
    std::uint32_t unfinished = 0;
  };
  struct Record {
    std::uint32_t index;
    Record* parent;  // of a task from another rank: the innermost task of this rank around it; null: none
    Scope* scope;
    std::uint64_t epoch = 0;
    std::uint32_t children = 0;
    std::uint32_t predecessors = 0;
    std::vector<Record*> successors{};
    bool is_absent = false;
    bool is_foreign = false;
    bool is_detached = false;
    bool fulfilled = false;
    bool body_ended = false;
    bool subtree_ended = false;
    bool ended = false;
    bool left = false;  // its scope
  };

  // LocalTasks, Bell
  bool is_open() const noexcept override { return is_open_; }
  std::uint32_t load() const noexcept override {
    const auto ready = static_cast<std::uint32_t>(ready_.size());
    return ready > hungry_ ? ready - hungry_ : 0;
  }
  bool is_hungry() const noexcept override {
    return hungry_ > ready_.size() || (options_.old_hunger && was_hungry_);
  }
  bool take(const task_stealing::Origin* below, std::span<std::byte> room,
            task_stealing::Departure& departure) noexcept override;
  void departed() noexcept override {}
  bool is_below(std::uint64_t task, const task_stealing::Origin& ancestor) noexcept override {
    return is_in(record_of(task)->scope, ancestor);
  }
  void arrive(const task_stealing::Origin& origin, std::span<const std::byte> image) noexcept override;
  void come_home(std::uint64_t task) noexcept override;
  void ended(std::uint64_t task) noexcept override;
  void subtree_ended(std::uint64_t task) noexcept override;
  bool fulfilled(std::uint64_t event) noexcept override;
  void peer_waits(bool begins) noexcept override { peers_waiting_ += begins ? 1 : -1; }
  void meeting_over() noexcept override {}
  void ring() noexcept override { rung_ = true; }

  static bool is_in(const Scope* scope, const task_stealing::Origin& origin);
  static Record* record_of(std::uint64_t task) { return reinterpret_cast<Record*>(task); }
  Record* make(std::uint32_t index, Record* parent, Scope* scope);
  Scope* make_scope(Scope* outer);
  Task<> create(Record& parent, Scope* scope, std::uint32_t child);
  Task<> run(Record& record);
  Task<> wait_for_children(Record& record, const std::vector<std::uint32_t>& children);
  Task<> end_group(Record& record, Scope& scope);
  Task<bool> run_one(const Record* ancestor);
  Task<> help();
  Task<> pass_barrier();
  Task<> sleep_hungry();
  Task<> wait_for_descendants(Record& record);
  void finish(Record& record);
  void leave_if_over(Record& record);
  void make_ready(Record& record);
  bool descends_from(const Record& record, const Record& ancestor) const;
  void fulfil(std::uint32_t task);

  Stage& stage_;
  Node& node_;
  const TaskPlan& plan_;
  TaskJournal& journal_;
  const Options options_;
  SimCalls calls_;
  std::unique_ptr<task_stealing::Stealing> stealing_;
  std::deque<Record> records_;
  std::deque<Scope> scopes_;
  std::map<std::uint32_t, Record*> made_;  // by index
  std::deque<Record*> ready_;              // the oldest first
  Scope* team_ = nullptr;
  std::uint32_t hungry_ = 0;
  std::uint32_t waiting_ = 0;  // members that may run only some tasks
  bool was_hungry_ = false;    // since tasks came
  std::int32_t peers_waiting_ = 0;
  bool is_open_ = true;
  bool over_ = false;
  bool stopped_ = false;
  bool rung_ = false;
};

// The whole job.
class TaskWorld {
 public:
  struct Result {
    std::string fault;  // empty: all went well
    std::uint64_t calls = 0;
    std::uint64_t stolen = 0;
    std::uint64_t pushed = 0;
    std::vector<std::uint32_t> ran_on;
  };
  static Result play(const Configuration& configuration, const TaskPlan& plan,
                     const TaskRank::Options& options, InjectedBug bug);
};

}  // namespace musubi::sim
