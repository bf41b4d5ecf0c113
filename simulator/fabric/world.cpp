#include "simulator/fabric/world.h"

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

void World::execute_next() {
  const Entry entry = pop();
  if (!stopped_.empty() && is_stopped(*entry.occurrence)) return waiting_.push_back(entry);
  now_ns_ = std::max(now_ns_, entry.time);
  ++events_;
  fold(entry.time + (std::uint64_t{entry.occurrence->identity()} << 32));
  present_ = entry.occurrence;
  entry.occurrence->occur(entry.argument);
  present_ = nullptr;
  if (observer_ != nullptr && stopped_.empty()) observer_->after_event();
}

bool World::step() {
  if (!stopped_.empty() && is_one_due()) {
    thread_is_free_ = true;
    go_on_with_stopped();
    thread_is_free_ = false;
    return true;
  }
  if (heap_.empty()) return false;
  execute_next();
  return true;
}

bool World::is_stopped(const Occurrence& occurrence) const {
  return std::any_of(stopped_.begin(), stopped_.end(),
                     [&](const Stopped& s) { return s.occurrence == &occurrence; });
}

// Whether a stopped occurrence continues before the next event.
bool World::is_one_due() const {
  return heap_.empty() || !may_stop_ ||
         std::any_of(stopped_.begin(), stopped_.end(), [&](const Stopped& s) { return s.until <= events_; });
}

void World::go_on_with(Fiber& next) {
  Fiber& before = *fiber_;
  fiber_ = &next;
  before.go_on_with(next);
}

// Continues the stopped occurrence that is due first.
void World::go_on_with_stopped() {
  const auto first = std::min_element(stopped_.begin(), stopped_.end(),
                                      [](const Stopped& a, const Stopped& b) { return a.until < b.until; });
  Fiber& next = *first->fiber;
  stopped_.erase(first);
  go_on_with(next);
}

Fiber& World::free_fiber() {
  if (thread_is_free_) return thread_;
  if (free_.empty()) {
    fibers_.push_back(std::make_unique<Fiber>(&World::drive, this));
    return *fibers_.back();
  }
  Fiber* fiber = free_.back();
  free_.pop_back();
  return *fiber;
}

// Does the work of another fiber between two events; prefers the thread's own fiber.
void World::drive(void* argument) {
  World& world = *static_cast<World*>(argument);
  for (;;) {
    if (!world.thread_is_free_ && !world.is_one_due()) {
      world.execute_next();
      continue;
    }
    world.free_.push_back(world.fiber_);
    if (world.thread_is_free_) {
      world.go_on_with(world.thread_);
    } else {
      world.go_on_with_stopped();
    }
  }
}

void World::interrupt(std::uint64_t events) {
  constexpr std::size_t stopped_max = 6;
  if (present_ == nullptr || !may_stop_ || events == 0 || stopped_.size() == stopped_max) return;
  if (heap_.empty() && stopped_.empty()) return;
  reached("world.interrupted");
  Occurrence& self = *present_;
  stopped_.push_back({&self, fiber_, events_ + events});
  go_on_with(free_fiber());
  present_ = &self;
  const auto is_own = [&](const Entry& entry) { return entry.occurrence == &self; };
  for (const Entry& entry : waiting_) {
    if (is_own(entry)) push(entry);
  }
  std::erase_if(waiting_, is_own);
}

bool World::run(std::uint64_t events_max) {
  for (std::uint64_t i = 0; i < events_max; ++i) {
    if (!step()) return true;
  }
  may_stop_ = false;
  while (!stopped_.empty()) step();
  may_stop_ = true;
  return heap_.empty();
}

}  // namespace musubi::fabric::sim
