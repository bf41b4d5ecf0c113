// Procedures that the target of a batch carries out: the verb `call`. One round trip can then depend on words
// that only the target knows.
//
// A procedure is a short function of the job: the same on every rank, registered by Fabric::offer. It works
// on the registered regions of the target, concurrently with the target's own threads and with other ranks,
// by processor atomics and copies of whole words. It never waits and allocates nothing; if it cannot do
// something, its verdict says so and the caller retries. The driver decides which thread of which process
// carries it out: the target's service thread, a thread that polls there, or the caller itself if the
// target's memory is mapped. So a procedure uses only its arguments, the regions, and its registered data.
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

// The outcome of a procedure: a number that it defines, from 1 on. Later steps may depend on it
// (Step::after).
using Verdict = std::uint8_t;
inline constexpr Verdict no_verdict = 0;
// The arguments are not ones that the job's own code makes: an error of the caller, which may be a damaged
// process.
inline constexpr Verdict malformed = 255;

inline constexpr std::size_t call_argument_bytes_max = std::size_t{16} << 10;
inline constexpr std::size_t call_result_bytes_max = std::size_t{4} << 10;

// How a call ended: at the front of the place for its result, which follows.
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
  // `room` is for the result, at any alignment.
  Call(Rank caller, Rank target, RegionViews regions, std::span<const std::byte> arguments,
       std::span<std::byte> room) noexcept
      : caller_(caller), target_(target), regions_(regions), arguments_(arguments), room_(room) {}

  Rank caller() const noexcept { return caller_; }
  Rank target() const noexcept { return target_; }
  // At any alignment.
  std::span<const std::byte> arguments() const noexcept { return arguments_; }

  // Copies the front of the arguments to `to`. Result: false if there are fewer bytes.
  template <class T>
  bool read(T& to) const noexcept {
    static_assert(std::is_trivially_copyable_v<T>);
    if (arguments_.size() < sizeof to) return false;
    std::memcpy(&to, arguments_.data(), sizeof to);
    return true;
  }
  // The bytes [offset, offset + bytes) of a region of the target; null if they are not inside it. The only
  // access to regions, so that no argument leads outside.
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

  // Appends to the result. Result: false if the caller's room is too small; then nothing is appended.
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

// The layers above share these numbers: remote_lock defines those of locks, coherence/regions.h all the rest.
using ProcedureId = StrongId<struct ProcedureTag, std::uint8_t>;
inline constexpr std::size_t procedure_count_max = 16;

struct Procedure {
  // May run on several threads at once, and inside signal handlers. `data` as registered.
  Verdict (*carry_out)(Call& call, const void* data) noexcept = nullptr;
  const void* data = nullptr;  // constant; equivalent on every rank
};

// One table per fabric.
class Procedures {
 public:
  // REQUIRES: no other procedure has this number.
  void offer(ProcedureId id, Procedure procedure) noexcept {
    MUSUBI_CHECK(id.value < procedure_count_max && procedure.carry_out != nullptr);
    Procedure& place = table_[id.value];
    MUSUBI_CHECK(place.carry_out == nullptr || place.carry_out == procedure.carry_out,
                 "two procedures have the number %u", unsigned{id.value});
    place = procedure;
  }
  // Null if there is none.
  const Procedure* find(std::uint64_t id) const noexcept {
    const bool is_offered = id < table_.size() && table_[id].carry_out != nullptr;
    return is_offered ? &table_[id] : nullptr;
  }

 private:
  std::array<Procedure, procedure_count_max> table_{};
};

}  // namespace musubi::fabric
