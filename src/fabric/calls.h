// Procedures that a batch has carried out at its target: the verb `call`. One trip then does what depends on
// words that only the target knows.
//
// A procedure is a short function of the job: the same on every rank, registered by Fabric::offer. It works
// on the registered regions of the target, beside the target's own threads and other ranks, by processor
// atomics and copies of whole words. It never waits and allocates nothing; what it cannot do, it says in its
// verdict, and the caller tries again. Which thread of which process carries it out is the driver's business:
// the target's service thread, a thread that polls there, or the caller itself where the target's memory is
// mapped. So it knows nothing but its arguments, the regions, and what was registered with it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "base/check.h"
#include "base/ids.h"

namespace musubi::fabric {

// A registered region: the same number on every rank, symmetric sizes.
using RegionId = StrongId<struct RegionTag, std::uint8_t>;
inline constexpr std::size_t region_count_max = 8;

// The regions of one rank, as addresses of this process. Null: no such region.
struct RegionView {
  std::byte* base = nullptr;
  std::size_t bytes = 0;
};
using RegionViews = std::span<const RegionView, region_count_max>;

// What a procedure concludes: a number of its own, from 1 on. Steps behind it may depend on it (Step::after).
using Verdict = std::uint8_t;
inline constexpr Verdict no_verdict = 0;
// The arguments are none that the job's own code makes. A fault of the caller, which may be a damaged
// process.
inline constexpr Verdict malformed = 255;

inline constexpr std::size_t call_argument_bytes_max = std::size_t{16} << 10;
inline constexpr std::size_t call_result_bytes_max = std::size_t{4} << 10;

// How a call ended: the front of the place for its result, which follows.
struct CallEnd {
  std::uint32_t bytes;  // of the result
  Verdict verdict;
  std::uint8_t reserved[3];
};
static_assert(sizeof(CallEnd) == 8);

// A place for a result of one type.
template <class Result>
struct Answer {
  CallEnd end;
  Result result;
};

// One call, as its procedure sees it.
class Call {
 public:
  // `room`: for the result, at any alignment.
  Call(Rank caller, Rank target, RegionViews regions, std::span<const std::byte> arguments,
       std::span<std::byte> room) noexcept
      : caller_(caller), target_(target), regions_(regions), arguments_(arguments), room_(room) {}

  Rank caller() const noexcept { return caller_; }
  Rank target() const noexcept { return target_; }
  // At any alignment.
  std::span<const std::byte> arguments() const noexcept { return arguments_; }

  // The arguments as one object, or the front of them. Result: false if there are fewer bytes.
  template <class T>
  bool read(T& to) const noexcept {
    static_assert(std::is_trivially_copyable_v<T>);
    if (arguments_.size() < sizeof to) return false;
    std::memcpy(&to, arguments_.data(), sizeof to);
    return true;
  }
  // The bytes [offset, offset + bytes) of a region of the target; null if they are not inside. The only way
  // to the regions, so that no argument leads outside.
  std::byte* at(RegionId region, std::uint64_t offset, std::size_t bytes) const noexcept {
    if (region.value >= region_count_max) return nullptr;
    const RegionView& view = regions_[region.value];
    if (view.base == nullptr || bytes > view.bytes || offset > view.bytes - bytes) return nullptr;
    return view.base + offset;
  }
  // One object there; null also if it is not aligned.
  template <class T>
  T* object_at(RegionId region, std::uint64_t offset) const noexcept {
    std::byte* const place = at(region, offset, sizeof(T));
    const bool aligned = reinterpret_cast<std::uintptr_t>(place) % alignof(T) == 0;
    return aligned ? reinterpret_cast<T*>(place) : nullptr;
  }

  // Adds to the result. What does not fit into the caller's room is left out: result: false.
  bool add(const void* from, std::size_t bytes) noexcept {
    if (bytes > room_.size() - filled_) return false;
    if (bytes != 0) std::memcpy(room_.data() + filled_, from, bytes);
    filled_ += bytes;
    return true;
  }
  template <class T>
  bool add(const T& object) noexcept {
    static_assert(std::is_trivially_copyable_v<T>);
    return add(&object, sizeof object);
  }
  std::size_t result_bytes() const noexcept { return filled_; }

 private:
  const Rank caller_, target_;
  const RegionViews regions_;
  const std::span<const std::byte> arguments_;
  const std::span<std::byte> room_;
  std::size_t filled_ = 0;
};

// The layers above share these numbers: those of locks are in remote_lock, the others in coherence/regions.h.
using ProcedureId = StrongId<struct ProcedureTag, std::uint8_t>;
inline constexpr std::size_t procedure_count_max = 16;

struct Procedure {
  // May run on several threads at once, and inside signal handlers. `data`: as registered.
  Verdict (*carry_out)(Call& call, const void* data) noexcept = nullptr;
  const void* data = nullptr;  // constant; the same on every rank in all that matters
};

// One table per fabric.
class Procedures {
 public:
  // REQUIRES: no other one has this number.
  void offer(ProcedureId id, Procedure procedure) noexcept {
    MUSUBI_CHECK(id.value < procedure_count_max && procedure.carry_out != nullptr);
    Procedure& place = table_[id.value];
    MUSUBI_CHECK(place.carry_out == nullptr || place.carry_out == procedure.carry_out,
                 "two procedures have the number %u", unsigned{id.value});
    place = procedure;
  }
  // Null: there is none.
  const Procedure* find(std::uint64_t id) const noexcept {
    const bool is_offered = id < table_.size() && table_[id].carry_out != nullptr;
    return is_offered ? &table_[id] : nullptr;
  }

 private:
  std::array<Procedure, procedure_count_max> table_{};
};

}  // namespace musubi::fabric
