// Order by `depend` clauses: the table compared with the definition, for random tasks of one parent.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "omp/tasks/dependences.h"

namespace musubi::testing {
namespace {

using omp::Dependence;
using omp::DependenceKind;
using omp::DependenceNode;
using omp::DependenceTable;
using omp::TaskRecord;

struct Child {
  TaskRecord record;
  std::vector<Dependence> list;
  bool ended = false;
};

// Whether a later task with `later` waits for one with `earlier`, by the specification.
bool conflict(const Dependence& earlier, const Dependence& later) {
  const bool all = earlier.address == Dependence::all_memory || later.address == Dependence::all_memory;
  if (!all && earlier.address != later.address) return false;
  return earlier.kind != later.kind || earlier.kind == DependenceKind::out;
}

bool conflict(const Child& earlier, const Child& later) {
  for (const Dependence& one : earlier.list) {
    for (const Dependence& other : later.list) {
      if (conflict(one, other)) return true;
    }
  }
  return false;
}

class Family {
 public:
  explicit Family(std::uint32_t seed) : random_(seed) {}
  ~Family() { table_->destroy(); }
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;

  void make_child(std::uint32_t addresses, bool all_memory) {
    auto child = std::make_unique<Child>();
    const std::uint32_t count = 1 + draw(3);
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto kind = static_cast<DependenceKind>(draw(3));
      child->list.push_back({0x1000 + 8 * draw(addresses), kind});
    }
    if (all_memory && draw(20) == 0) child->list = {{Dependence::all_memory, DependenceKind::out}};
    EXPECT_EQ(!waits(*child), table_->is_free(child->list));
    child->record.node = DependenceNode::make();
    table_->add(child->record, child->list);
    ready_.push_back(child->record.predecessors.fetch_sub(1) == 1);
    children_.push_back(std::move(child));
  }

  // A random task that is ready ends. Result: whether there was one.
  bool end_child() {
    std::vector<std::size_t> candidates;
    for (std::size_t i = 0; i < children_.size(); ++i) {
      if (ready_[i] && !children_[i]->ended) candidates.push_back(i);
    }
    if (candidates.empty()) return false;
    Child& child = *children_[candidates[draw(static_cast<std::uint32_t>(candidates.size()))]];
    child.ended = true;
    child.record.node->end([this](TaskRecord& successor) { become_ready(successor); });
    child.record.node->drop_reference();
    return true;
  }

  // Exactly the tasks without an unfinished predecessor are ready: direct predecessors suffice, since a task
  // ends after its own.
  void check() const {
    for (std::size_t i = 0; i < children_.size(); ++i) {
      if (children_[i]->ended) continue;
      ASSERT_EQ(!waits_before(*children_[i], i), ready_[i]) << "task " << i;
    }
  }

  std::uint32_t draw(std::uint32_t below) { return static_cast<std::uint32_t>(random_() % below); }

 private:
  bool waits_before(const Child& child, std::size_t before) const {
    for (std::size_t i = 0; i < before; ++i) {
      if (!children_[i]->ended && conflict(*children_[i], child)) return true;
    }
    return false;
  }
  bool waits(const Child& child) const { return waits_before(child, children_.size()); }
  void become_ready(const TaskRecord& record) {
    for (std::size_t i = 0; i < children_.size(); ++i) {
      if (&children_[i]->record != &record) continue;
      EXPECT_FALSE(ready_[i]);
      ready_[i] = true;
    }
  }

  std::mt19937 random_;
  DependenceTable* const table_ = DependenceTable::make();
  std::vector<std::unique_ptr<Child>> children_;
  std::vector<bool> ready_;
};

TEST(Dependences, are_those_of_the_specification) {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    Family family(seed);
    const std::uint32_t addresses = 1 + seed % 12;
    for (int step = 0; step < 300; ++step) {
      if (family.draw(5) < 3) {
        family.make_child(addresses, seed % 2 == 0);
      } else {
        family.end_child();
      }
      family.check();
      if (HasFatalFailure()) return;
    }
    while (family.end_child()) family.check();
  }
}

TEST(Dependences, know_many_variables) {
  Family family(1);
  for (int i = 0; i < 400; ++i) {
    family.make_child(3000, false);
    if (i % 3 == 0) family.end_child();
  }
  family.check();
  while (family.end_child()) {
  }
  family.check();
}

}  // namespace
}  // namespace musubi::testing
