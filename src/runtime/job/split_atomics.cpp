#include "runtime/job/split_atomics.h"

#include <algorithm>
#include <bit>

#include "os/clock.h"
#include "runtime/threads/deferred_handlers.h"

namespace musubi::runtime {
namespace {

// Holds the job's lock for these operations, with handlers deferred: a handler might need the lock itself.
class Alone {
 public:
  Alone(Words& words, std::size_t lock) : words_(words), lock_(lock) {
    std::uint64_t sleep_ns = 10'000;
    while (words_.compare_swap(Rank{0}, lock_, 0, 1) != 0) {
      os::sleep_ns(sleep_ns);
      sleep_ns = std::min<std::uint64_t>(sleep_ns * 2, 500'000);
    }
  }
  Alone(const Alone&) = delete;
  ~Alone() { words_.store(Rank{0}, lock_, 0); }

 private:
  const DeferredHandlers handlers_;
  Words& words_;
  const std::size_t lock_;
};

// Calls visit(place, bytes, shift of its bits in the operand) for parts of a valid operation width, each
// within one block.
template <class Visit>
void for_each_part(std::uintptr_t address, std::uintptr_t border, unsigned bytes, Visit visit) {
  for (unsigned at = 0; at < bytes;) {
    const std::uintptr_t place = address + at;
    const std::uintptr_t end = place < border ? border : address + bytes;
    const auto part = static_cast<unsigned>(std::bit_floor(end - place));
    visit(place, part, 8 * at);
    at += part;
  }
}

}  // namespace

AtomicValue SplitAtomics::carry_out(std::uintptr_t address, std::uintptr_t border,
                                    const AtomicOperation& operation, const Step& step) {
  const Alone alone(words_, lock_);
  AtomicValue old = 0;
  for_each_part(address, border, operation.bytes, [&](std::uintptr_t place, unsigned bytes, unsigned shift) {
    const AtomicOperation load{.kind = AtomicOperation::Kind::load,
                               .bytes = static_cast<std::uint8_t>(bytes),
                               .order = operation.order};
    old |= (step(place, load) & mask_of(bytes)) << shift;
  });
  const AtomicValue changed = apply(operation, old);
  for_each_part(address, border, operation.bytes, [&](std::uintptr_t place, unsigned bytes, unsigned shift) {
    const AtomicValue part = changed >> shift & mask_of(bytes);
    if (part == (old >> shift & mask_of(bytes))) return;
    step(place, {.kind = AtomicOperation::Kind::store,
                 .bytes = static_cast<std::uint8_t>(bytes),
                 .operand = part,
                 .order = operation.order});
  });
  return old;
}

}  // namespace musubi::runtime
