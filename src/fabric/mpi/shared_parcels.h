// The memory that a rank shares with its carrier (carrier.h): the parcels of net.h, and marks by which each
// side hands parcels to the other. So the rank's process never calls MPI.
//
// Marks are bits of a group's word: a thread sets one without waiting, even in a signal handler, and their
// order does not matter.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <bit>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "fabric/messages/net.h"
#include "os/memory.h"

namespace musubi::fabric::mpi {

inline constexpr std::size_t parcel_bytes = 16384;

// Marks of one side for the other. Zero memory is an empty tray. put(): any thread; take(): one thread.
class MarkBitmap {
 public:
  static constexpr std::uint32_t groups_per_word = 64;

  MarkBitmap() = default;
  MarkBitmap(std::span<std::atomic<std::uint32_t>> groups,
             std::span<std::atomic<std::uint64_t>> words) noexcept
      : groups_(groups), words_(words) {}

  void put(std::uint32_t group, std::uint32_t marks) noexcept {
    groups_[group].fetch_or(marks);
    words_[group / groups_per_word].fetch_or(std::uint64_t{1} << group % groups_per_word);
  }
  bool any() const noexcept {
    for (const auto& word : words_) {
      if (word.load() != 0) return true;
    }
    return false;
  }
  // Calls each(group, marks) for all marks, and clears them.
  template <typename Each>
  void take(Each each) noexcept {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if (words_[i].load(std::memory_order_relaxed) == 0) continue;
      for (std::uint64_t word = words_[i].exchange(0); word != 0; word &= word - 1) {
        const auto group = static_cast<std::uint32_t>(i * groups_per_word) +
                           static_cast<std::uint32_t>(std::countr_zero(word));
        if (const std::uint32_t marks = groups_[group].exchange(0); marks != 0) each(group, marks);
      }
    }
  }

 private:
  std::span<std::atomic<std::uint32_t>> groups_;
  std::span<std::atomic<std::uint64_t>> words_;
};

// Describes the message in a parcel.
struct Label {
  std::uint32_t peer;
  std::uint32_t bytes;
  bool is_awaited;  // the rank wants a call after the message has left
};

// Progress of the connection between rank and carrier.
enum State : std::uint32_t {
  no_rank,
  rank_is_there,  // its process and ropes are in the head
  served,
  cannot_call,  // the carrier cannot open the ropes
  rank_left,
  failed,  // MPI carries no more messages
};

class SharedParcels {
 public:
  SharedParcels() = default;  // refers to no memory
  // For the carrier. Errors: no memory file.
  static Result<SharedParcels> create(std::uint32_t ranks);
  // For the rank: opens the file of the carrier's process. Errors: it cannot be opened, or is not for `ranks`
  // ranks.
  static Result<SharedParcels> open(pid_t carrier, int file, std::uint32_t ranks);

  int file() const noexcept { return file_.number(); }

  std::byte* bytes_of(std::uint32_t parcel) const noexcept { return bytes_ + parcel * parcel_bytes; }
  Label& label_of(std::uint32_t parcel) const noexcept { return labels_[parcel]; }

  // In each group's word: a bit per place. Places from parcels_of_way on are for receiving.
  MarkBitmap to_carrier, to_rank;

  struct Head {
    std::uint32_t ranks;
    std::atomic<std::uint32_t> state;           // futex word; a State
    pid_t process;                              // the rank
    int ropes[2];                               // of its bells, by Sleeper
    std::atomic<std::uint32_t> sleeps[2];       // by Sleeper: it sleeps, and wants a call
    std::atomic<std::uint32_t> carrier_sleeps;  // futex word
  };
  Head& head() const noexcept { return *head_; }

 private:
  SharedParcels(os::FileDescriptor file, os::Mapping memory, std::uint32_t ranks) noexcept;
  static Result<SharedParcels> map(os::FileDescriptor file, std::uint32_t ranks);

  os::FileDescriptor file_;
  os::Mapping memory_;
  Head* head_ = nullptr;
  Label* labels_ = nullptr;
  std::byte* bytes_ = nullptr;
};

}  // namespace musubi::fabric::mpi
