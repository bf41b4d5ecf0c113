#include "omp/tasks/dependences.h"

#include <algorithm>
#include <utility>

namespace musubi::omp {
namespace {

// Addresses of variables have equal low bits: the high bits of the product differ.
constexpr std::size_t mixed(std::uintptr_t address) noexcept {
  return static_cast<std::size_t>((address * 0x9e3779b97f4a7c15) >> 32);
}

template <class Nodes>
bool all_ended(const Nodes& nodes) noexcept {
  return std::all_of(nodes.begin(), nodes.end(),
                     [](const DependenceNode* node) { return node->has_ended(); });
}

template <class Nodes>
void forget(Nodes& nodes) noexcept {
  for (DependenceNode* node : nodes) node->drop_reference();
  nodes.clear();
}

// A set whose tasks end long before the next change of kind must not grow without bound.
template <class Nodes>
void forget_ended(Nodes& nodes) noexcept {
  std::erase_if(nodes, [](DependenceNode* node) {
    const bool ended = node->has_ended();
    if (ended) node->drop_reference();
    return ended;
  });
}

template <class Nodes>
void enter(Nodes& nodes, DependenceNode* node) {
  if (nodes.size() == nodes.capacity()) forget_ended(nodes);
  if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node->refer());
}

template <class Nodes>
void wait_for(const Nodes& nodes, TaskRecord& record) {
  for (DependenceNode* node : nodes) {
    if (node != record.node) node->add_successor(record);
  }
}

}  // namespace

void DependenceNode::drop_reference() noexcept {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  this->~DependenceNode();
  frame_free(this, sizeof(DependenceNode));
}

void DependenceNode::add_successor(TaskRecord& record) {
  if (has_ended()) return;
  const Held held(lock_);
  if (has_ended()) return;
  record.predecessors.fetch_add(1, std::memory_order_relaxed);
  successors_.push_back(&record);
}

void DependenceTable::destroy() noexcept {
  forget_all();
  if (all_memory_ != nullptr) all_memory_->drop_reference();
  this->~DependenceTable();
  frame_free(this, sizeof(DependenceTable));
}

bool DependenceTable::is_free(std::span<const Dependence> dependences) const noexcept {
  if (all_memory_ != nullptr && !all_memory_->has_ended()) return false;
  const auto is_free_of = [](const Entry& entry, DependenceKind kind) {
    const bool joins = kind != DependenceKind::out && kind == entry.kind;
    return all_ended(joins ? entry.before : entry.current);
  };
  for (const Dependence& dependence : dependences) {
    if (dependence.address == Dependence::all_memory) {
      const auto has_ended = [](const Entry& entry) { return all_ended(entry.current); };
      if (!std::all_of(entries_.begin(), entries_.end(), has_ended)) return false;
    } else if (const Entry* entry = find(dependence.address)) {
      if (!is_free_of(*entry, dependence.kind)) return false;
    }
  }
  return true;
}

void DependenceTable::add(TaskRecord& record, std::span<const Dependence> dependences) {
  if (all_memory_ != nullptr) all_memory_->add_successor(record);
  const auto is_all = [](const Dependence& each) { return each.address == Dependence::all_memory; };
  if (std::any_of(dependences.begin(), dependences.end(), is_all)) return add_after_all(record);
  for (const Dependence& dependence : dependences) add_to(at(dependence.address), record, dependence.kind);
}

// Tasks of one kind that do not wait for each other wait for the same tasks; a task of another kind waits for
// all of them.
void DependenceTable::add_to(Entry& entry, TaskRecord& record, DependenceKind kind) {
  const bool joins = kind != DependenceKind::out && kind == entry.kind;
  wait_for(joins ? entry.before : entry.current, record);
  if (record.node == nullptr) return;
  if (!joins) {
    // The earlier tasks of this set are this task's own: it names the address twice.
    if (entry.current.size() == 1 && entry.current.front() == record.node) {
      entry.kind = DependenceKind::out;
      return;
    }
    forget(entry.before);
    std::swap(entry.before, entry.current);
    entry.kind = kind;
  }
  enter(entry.current, record.node);
}

void DependenceTable::add_after_all(TaskRecord& record) {
  for (const Entry& entry : entries_) wait_for(entry.current, record);
  if (record.node == nullptr) return;
  forget_all();
  if (all_memory_ != nullptr) all_memory_->drop_reference();
  all_memory_ = record.node->refer();
}

void DependenceTable::forget_all() noexcept {
  for (Entry& entry : entries_) {
    forget(entry.before);
    forget(entry.current);
    entry.address = 0;
  }
  used_ = 0;
}

DependenceTable::Entry* DependenceTable::find(std::uintptr_t address) const noexcept {
  if (entries_.empty()) return nullptr;
  const std::size_t mask = entries_.size() - 1;
  for (std::size_t i = mixed(address) & mask; entries_[i].address != 0; i = (i + 1) & mask) {
    if (entries_[i].address == address) return &entries_[i];
  }
  return nullptr;
}

DependenceTable::Entry& DependenceTable::at(std::uintptr_t address) {
  if (Entry* const known = find(address)) return *known;
  if (2 * (used_ + 1) > entries_.size()) grow();
  const std::size_t mask = entries_.size() - 1;
  std::size_t i = mixed(address) & mask;
  while (entries_[i].address != 0) i = (i + 1) & mask;
  ++used_;
  entries_[i].address = address;
  entries_[i].kind = DependenceKind::in;
  return entries_[i];
}

// Entries whose tasks have all ended are left out.
void DependenceTable::grow() {
  std::vector<Entry, FrameAllocator<Entry>> old;
  std::swap(old, entries_);
  const auto is_live = [](const Entry& entry) { return entry.address != 0 && !all_ended(entry.current); };
  const auto live = static_cast<std::size_t>(std::count_if(old.begin(), old.end(), is_live));
  std::size_t size = 16;
  while (size < 4 * (live + 1)) size *= 2;
  entries_.resize(size);
  used_ = 0;
  for (Entry& entry : old) {
    if (is_live(entry)) {
      Entry& kept = at(entry.address);
      kept.kind = entry.kind;
      std::swap(kept.current, entry.current);
      std::swap(kept.before, entry.before);
    } else {
      forget(entry.before);
      forget(entry.current);
    }
  }
}

}  // namespace musubi::omp
