#include "fabric/sim/world.h"

#include <algorithm>

namespace musubi::fabric::sim {

void World::push(Entry entry) {
  std::size_t at = heap_.size();
  heap_.push_back(entry);
  while (at != 0) {
    const std::size_t parent = (at - 1) / 4;
    if (!entry.before(heap_[parent])) break;
    heap_[at] = heap_[parent];
    at = parent;
  }
  heap_[at] = entry;
}

World::Entry World::pop() noexcept {
  const Entry top = heap_.front();
  const Entry last = heap_.back();
  heap_.pop_back();
  const std::size_t count = heap_.size();
  if (count == 0) return top;
  std::size_t at = 0;
  for (;;) {
    const std::size_t first = at * 4 + 1;
    if (first >= count) break;
    std::size_t least = first;
    const std::size_t end = std::min(first + 4, count);
    for (std::size_t child = first + 1; child < end; ++child) {
      if (heap_[child].before(heap_[least])) least = child;
    }
    if (!heap_[least].before(last)) break;
    heap_[at] = heap_[least];
    at = least;
  }
  heap_[at] = last;
  return top;
}

bool World::step() {
  if (heap_.empty()) return false;
  const Entry entry = pop();
  now_ns_ = entry.time;
  ++events_;
  fold(entry.time + (std::uint64_t{entry.occurrence->identity()} << 32));
  entry.occurrence->occur(entry.argument);
  if (observer_ != nullptr && interruptions_ == 0) observer_->after_event();
  return true;
}

void World::interrupt(std::uint64_t events_max) {
  constexpr unsigned interruptions_max = 4;  // each one takes of the machine's stack
  if (interruptions_ == interruptions_max) return;
  ++interruptions_;
  reached("world.interrupted");
  for (std::uint64_t i = 0; i < events_max && step(); ++i) {
  }
  --interruptions_;
}

bool World::run(std::uint64_t events_max) {
  for (std::uint64_t i = 0; i < events_max; ++i) {
    if (!step()) return true;
  }
  return heap_.empty();
}

}  // namespace musubi::fabric::sim
