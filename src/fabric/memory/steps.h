// One-sided operations as loads, stores and atomic instructions on memory of this process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "fabric/fabric.h"

namespace musubi::fabric {

// The target of steps: the memory of a rank, and the procedures of the job.
struct Target {
  Rank rank;
  RegionViews regions;
  const Procedures& procedures;
};

// The objection to a step's region, bounds, alignment or procedure; null: none. Any thread, signal-safe.
const char* objection_to(RegionViews regions, const Procedures& procedures, const Step& step) noexcept;

// Carries out the steps in order, each complete before the next begins. Checks region, bounds and alignment
// (MUSUBI_CHECK). Result: the bytes moved. Any thread, signal-safe.
std::uint64_t perform(const Target& target, Rank caller, std::span<const Step> steps) noexcept;

// The bytes that a step has moved.
inline std::uint64_t moved_bytes(const Step& step) noexcept {
  return step.verb == Verb::call ? step.operand + static_cast<const CallEnd*>(step.local)->bytes : step.bytes;
}

// Carries out the steps of one batch, whole or in parts, each complete before the next begins. Aligned pieces
// of 2, 4 and 8 bytes of `remote` stay whole if every part except a step's last one ends at an aligned word.
// Checks nothing. One thread at a time, signal-safe.
class StepOrder {
 public:
  void get(void* local, const std::byte* remote, std::size_t bytes) noexcept;
  void put(std::byte* remote, const void* local, std::size_t bytes) noexcept;
  // Result: the old value. REQUIRES: an atomic step; `remote` is aligned.
  std::uint64_t modify(const Step& step, std::byte* remote) noexcept;
  // Carries out a call. REQUIRES: its procedure is offered. The result goes to `room`, of step.bytes bytes,
  // at any alignment.
  CallEnd call(const Target& target, Rank caller, const Step& step, std::span<const std::byte> arguments,
               std::byte* room) noexcept;
  // Whether the step is skipped: the last call of the batch had another verdict than the required one.
  bool leaves_out(const Step& step) const noexcept {
    return step.after != no_verdict && step.after != verdict_;
  }
  // Ends the batch: its stores are visible to every later operation.
  void end() noexcept;

 private:
  // Only a full fence keeps a get from passing an earlier store of this batch or of one that was awaited.
  bool stores_in_flight_ = false;
  Verdict verdict_ = no_verdict;
};

}  // namespace musubi::fabric
