#include "fabric/memory/steps.h"

#include <atomic>
#include <cstring>

#include "base/check.h"
#include "fabric/copy_words.h"
#include "os/cpu.h"

namespace musubi::fabric {
namespace {

std::byte* resolve(const Target& target, const Step& step) noexcept {
  const char* const objection = objection_to(target.regions, target.procedures, step);
  MUSUBI_CHECK(objection == nullptr, "region %u [%llu, +%zu): %s", unsigned{step.region.value},
               static_cast<unsigned long long>(step.offset), step.bytes, objection);
  return target.regions[step.region.value].base + step.offset;
}

const char* objection_to_call(const Procedures& procedures, const Step& step) noexcept {
  if (procedures.find(step.offset) == nullptr) return "a call of no procedure";
  if (step.operand > call_argument_bytes_max) return "a call with too many arguments";
  if (step.bytes > call_result_bytes_max) return "a call with room for too long a result";
  return nullptr;
}

}  // namespace

const char* objection_to(RegionViews regions, const Procedures& procedures, const Step& step) noexcept {
  if (step.verb == Verb::call) return objection_to_call(procedures, step);
  if (step.verb > Verb::call) return "no such operation";
  if (step.region.value >= region_count_max || regions[step.region.value].base == nullptr) {
    return "there is no such region";
  }
  const RegionView& region = regions[step.region.value];
  if (step.bytes > region.bytes || step.offset > region.bytes - step.bytes) return "outside of the region";
  if (step.verb == Verb::get || step.verb == Verb::put) return nullptr;
  if (step.bytes != 8) return "an atomic of not 8 bytes";
  if (reinterpret_cast<std::uintptr_t>(region.base + step.offset) % 8 != 0) {
    return "an atomic on a word that is not aligned";
  }
  return nullptr;
}

void StepOrder::get(void* local, const std::byte* remote, std::size_t bytes) noexcept {
  if (stores_in_flight_) std::atomic_thread_fence(std::memory_order_seq_cst);
  stores_in_flight_ = false;
  copy_words(local, remote, bytes, remote);
  std::atomic_thread_fence(std::memory_order_acquire);
}

void StepOrder::put(std::byte* remote, const void* local, std::size_t bytes) noexcept {
  std::atomic_thread_fence(std::memory_order_release);
  copy_words(remote, local, bytes, remote);
  stores_in_flight_ = true;
}

std::uint64_t StepOrder::modify(const Step& step, std::byte* remote) noexcept {
  const std::atomic_ref<std::uint64_t> word(*reinterpret_cast<std::uint64_t*>(remote));
  std::uint64_t old = step.compare;
  if (step.verb == Verb::compare_swap) {
    word.compare_exchange_strong(old, step.operand);
  } else if (step.verb == Verb::fetch_add) {
    old = word.fetch_add(step.operand);
  } else {
    old = word.exchange(step.operand);
  }
  stores_in_flight_ = !os::atomics_are_full_fences;
  return old;
}

CallEnd StepOrder::call(const Target& target, Rank caller, const Step& step,
                        std::span<const std::byte> arguments, std::byte* room) noexcept {
  if (stores_in_flight_) std::atomic_thread_fence(std::memory_order_seq_cst);
  stores_in_flight_ = true;
  const Procedure& procedure = *target.procedures.find(step.offset);
  Call present(caller, target.rank, target.regions, arguments, {room, step.bytes});
  verdict_ = procedure.carry_out(present, procedure.data);
  return CallEnd{static_cast<std::uint32_t>(present.result_bytes()), verdict_, {}};
}

void StepOrder::end() noexcept {
  if (stores_in_flight_) std::atomic_thread_fence(std::memory_order_seq_cst);
  stores_in_flight_ = false;
  verdict_ = no_verdict;
}

std::uint64_t perform(const Target& target, Rank caller, std::span<const Step> steps) noexcept {
  std::uint64_t moved = 0;
  StepOrder order;
  for (const Step& step : steps) {
    if (order.leaves_out(step)) continue;
    if (step.verb == Verb::call) {
      const char* const objection = objection_to(target.regions, target.procedures, step);
      MUSUBI_CHECK(objection == nullptr, "%s", objection);
      auto* const answer = static_cast<CallEnd*>(step.local);
      *answer =
          order.call(target, caller, step, {static_cast<const std::byte*>(step.arguments), step.operand},
                     reinterpret_cast<std::byte*>(answer + 1));
      MUSUBI_CHECK(answer->verdict != malformed, "a call with malformed arguments");
      moved += moved_bytes(step);
      continue;
    }
    std::byte* remote = resolve(target, step);
    moved += moved_bytes(step);
    if (step.verb == Verb::get) {
      order.get(step.local, remote, step.bytes);
    } else if (step.verb == Verb::put) {
      order.put(remote, step.local, step.bytes);
    } else {
      const std::uint64_t old = order.modify(step, remote);
      std::memcpy(step.local, &old, sizeof old);
    }
  }
  order.end();
  return moved;
}

}  // namespace musubi::fabric
