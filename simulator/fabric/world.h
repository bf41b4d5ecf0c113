// The simulated world: virtual time, one queue of events, one random source. Two runs with the same seed
// execute the same events in the same order and end with the same hash; nothing here depends on addresses or
// on real time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "simulator/fabric/fiber.h"

namespace musubi::fabric::sim {

// The action of an event. Events are pairs (occurrence, argument), so that scheduling one allocates nothing.
// Like a thread, an occurrence does one thing at a time: while it is stopped half-way its other events wait.
class Occurrence {
 public:
  // `identity` identifies the occurrence in the event hash: the same in every run, so never derived from an
  // address.
  explicit Occurrence(std::uint32_t identity) noexcept : identity_(identity) {}
  virtual void occur(std::uint64_t argument) noexcept = 0;
  std::uint32_t identity() const noexcept { return identity_; }

 protected:
  ~Occurrence() = default;

 private:
  std::uint32_t identity_;
};

// Observes the world after each event: the checkers.
class Observer {
 public:
  virtual void after_event() noexcept = 0;

 protected:
  ~Observer() = default;
};

class World {
 public:
  explicit World(std::uint64_t seed) : random_(seed) {}
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  std::uint64_t now_ns() const noexcept { return now_ns_; }
  Random& random() noexcept { return random_; }
  std::uint64_t events() const noexcept { return events_; }
  // Hash of all executed events: their time, order and identity.
  std::uint64_t hash() const noexcept { return hash_; }

  // Executes occurrence.occur(argument) at now + delay; equal times in the order of these calls.
  void after(std::uint64_t delay_ns, Occurrence& occurrence, std::uint64_t argument) {
    push(Entry{now_ns_ + delay_ns, sequence_++, &occurrence, argument});
  }
  // Executes the next event. Result: false if there is none.
  bool step();
  // Executes events until none is left or `events_max` were executed, and completes stopped ones. Result:
  // false if some are left.
  bool run(std::uint64_t events_max);

  // Inside an event: stops it half-way until `events` other events have begun, or no other one can. These may
  // be stopped, too, and all continue in any order, as threads do. Half-done states are not observed.
  void interrupt(std::uint64_t events);

  // May be null.
  void observe(Observer* observer) noexcept { observer_ = observer; }

  // Folds a value (a result, a choice of the program) into the hash.
  void fold(std::uint64_t value) noexcept { hash_ = (hash_ ^ value) * 0x9fb21c651e98df25u + (hash_ >> 29); }

  // Notes that a rare situation occurred. `mark` is a literal.
  void reached(std::string_view mark) { ++marks_[mark]; }
  const std::map<std::string_view, std::uint64_t>& marks() const noexcept { return marks_; }

 private:
  struct Entry {
    std::uint64_t time;
    std::uint64_t sequence;
    Occurrence* occurrence;
    std::uint64_t argument;
    bool before(const Entry& other) const noexcept {
      return time != other.time ? time < other.time : sequence < other.sequence;
    }
  };
  // An event that was stopped half-way.
  struct Stopped {
    Occurrence* occurrence;
    Fiber* fiber;
    std::uint64_t until;  // events_
  };
  void push(Entry entry);
  Entry pop() noexcept;
  void execute_next();
  bool is_stopped(const Occurrence& occurrence) const;
  bool is_one_due() const;
  void go_on_with(Fiber& next);
  void go_on_with_stopped();
  Fiber& free_fiber();
  static void drive(void* world);

  std::vector<Entry> heap_;  // four children per entry: fewer cache lines per step than two
  std::uint64_t now_ns_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t hash_ = 0x243f6a8885a308d3u;
  Random random_;
  bool may_stop_ = true;
  bool thread_is_free_ = false;  // the caller of step() is between two events, and another fiber runs
  Fiber thread_;                 // the caller of step()
  Fiber* fiber_ = &thread_;      // the running fiber
  Occurrence* present_ = nullptr;
  std::vector<std::unique_ptr<Fiber>> fibers_;  // all fibers except thread_
  std::vector<Fiber*> free_;                    // of fibers_: those between two events
  std::vector<Stopped> stopped_;
  std::vector<Entry> waiting_;  // until their occurrences continue
  Observer* observer_ = nullptr;
  std::map<std::string_view, std::uint64_t> marks_;
};

}  // namespace musubi::fabric::sim
