// The true state of the memory of a global heap: the owner of each byte, and at rest the stack on which each
// object and node is.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "simulated_heap.h"

namespace musubi::global_heap {

// The view of one heap that its callers have.
class LiveMemory {
 public:
  // False: a part of it belongs to another holder.
  bool add(std::uint64_t begin, std::uint64_t bytes) {
    const std::uint64_t end = begin + std::max<std::uint64_t>(bytes, 1);
    const auto next = extents_.lower_bound(begin);
    if (next != extents_.end() && next->first < end) return false;
    if (next != extents_.begin() && std::prev(next)->second > begin) return false;
    extents_.emplace(begin, end);
    return true;
  }
  void remove(std::uint64_t begin) { extents_.erase(begin); }

 private:
  std::map<std::uint64_t, std::uint64_t> extents_;
};

// At rest, with nothing in any cache.
class ObjectAccounts {
 public:
  explicit ObjectAccounts(const SimulatedMember& member) : member_(member) {
    for (unsigned size_class = 0; size_class < class_count; ++size_class) walk(size_class);
    walk_empties();
    count_spans();
    look_for_marks();
  }

  // No object and no node is in two places, all match the description of their span, and none counts as given
  // out.
  bool are_sound() const { return is_sound_; }
  bool are_complete() const { return objects_.size() == span_objects_ && nodes_.size() == span_nodes_; }

 private:
  std::uint64_t top(unsigned stack) const {
    return member_.read<std::uint64_t>(member_.layout.head_at(stack)) & ((std::uint64_t{1} << 36) - 1);
  }
  SpanWord word(std::uint64_t offset) const {
    return SpanWord(member_.read<std::uint64_t>(member_.layout.directory_at(offset / unit_bytes)));
  }
  void note_node(std::uint64_t node) {
    const bool is_node = word(node).word() != 0 && word(node).size_class() == SpanWord::nodes;
    is_sound_ = is_sound_ && is_node && nodes_.insert(node).second;
  }
  void note_object(std::uint64_t offset, unsigned size_class) {
    const SpanWord span = word(offset);
    // Units inside of a large span have no word.
    const bool is_object = span.is_object(offset) && span.size_class() == size_class;
    is_sound_ = is_sound_ && is_object && objects_.insert(offset).second;
  }
  void walk(unsigned size_class) {
    for (std::uint64_t number = top(size_class); is_sound_ && number != 0;) {
      const std::uint64_t node = (number - 1) * node_bytes;
      note_node(node);
      const Batch batch = member_.read<Batch>(member_.layout.data_at(node));
      const bool is_run = (batch.count & Batch::run_mark) != 0;
      const std::uint64_t count = batch.count & ~Batch::run_mark;
      if (!is_run && count > batch_objects_max) is_sound_ = false;
      for (std::uint64_t i = 0; is_sound_ && i < count; ++i) {
        note_object(is_run ? batch.offsets[0] + i * object_bytes(size_class) : batch.offsets[i], size_class);
      }
      number = batch.next;
    }
  }
  void walk_empties() {
    for (std::uint64_t number = top(BatchStacks::empties); is_sound_ && number != 0;) {
      const std::uint64_t first = (number - 1) * node_bytes;
      const Batch batch = member_.read<Batch>(member_.layout.data_at(first));
      for (std::uint64_t i = 0; is_sound_ && i < batch.count; ++i) note_node(first + i * node_bytes);
      number = batch.next;
    }
  }
  void count_spans() {
    for (std::uint64_t unit = 0; unit < member_.layout.data_bytes() / unit_bytes; ++unit) {
      const SpanWord span = word(unit * unit_bytes);
      if (span.word() == 0 || span.begin() != unit * unit_bytes) continue;
      if (span.size_class() == SpanWord::nodes) {
        span_nodes_ += unit_bytes / node_bytes;
      } else {
        span_objects_ += span_objects(span.size_class());
      }
    }
  }
  void look_for_marks() {
    for (std::uint64_t offset = 0; offset < member_.layout.data_bytes(); offset += granule_bytes * 64) {
      if (member_.read<std::uint64_t>(member_.layout.object_states_at(offset)) != 0) is_sound_ = false;
    }
  }

  const SimulatedMember& member_;
  std::set<std::uint64_t> objects_, nodes_;
  std::uint64_t span_objects_ = 0;
  std::uint64_t span_nodes_ = 0;
  bool is_sound_ = true;
};

}  // namespace musubi::global_heap
