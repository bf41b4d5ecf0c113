// One descriptor table for the job (docs/decisions/process_objects.md). Each rank opens files under numbers
// of its own. When another rank of the host first uses such a number, it fetches the open file from the
// opener and keeps it under the same number. For a rank of another host the file is far: calls run at the
// opener (image/objects/far_calls.h). Closing closes it everywhere.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/result.h"
#include "image/objects/descriptor_mail.h"
#include "image/process/owner_calls.h"
#include "os/memory.h"
#include "runtime/api/runtime.h"

namespace musubi::image {

class Descriptors {
 public:
  // Makes the kernel skip the numbers that the job shares, those of this rank until start(): files that the
  // runtime opens get higher numbers. `one_output`: standard output is rank 0's. Call before the job opens
  // any file. Errors: limits on open files.
  Result<void> reserve_numbers(Rank self, std::uint32_t ranks, bool one_output);
  // From here on a file opened on this rank gets a number of this rank while one is free, and other ranks may
  // ask for it. Collective, before the program runs. Errors: no socket.
  Result<void> start(runtime::Runtime& runtime);

  // Makes descriptor `number` refer to the job's file of that number, or finds that the file is far. False if
  // it is not open. May block for a call to its opener. Any attached thread of the program.
  bool make_usable(int number) noexcept {
    if (static_cast<std::size_t>(number) >= numbers_) return true;  // also a negative number
    return states_[static_cast<std::size_t>(number)].load(std::memory_order_acquire) != State::absent ||
           fetch(number);
  }
  // Whether calls with this usable number run at its owner(), on another host.
  bool is_far(int number) const noexcept {
    return static_cast<std::size_t>(number) < numbers_ && state(number) >= State::far;
  }
  // Whether the far file `number` is a regular file.
  bool is_regular(int number) const noexcept { return state(number) == State::far_regular; }
  Rank owner(int number) const noexcept {
    const auto index = static_cast<std::size_t>(number);
    if (index < numbers_of_first_) return Rank{0};
    return Rank{static_cast<std::uint32_t>(1 + (index - numbers_of_first_) / numbers_per_rank_)};
  }
  // Does so for all open descriptors of the job, which a child is to inherit. A child inherits no far files.
  void make_all_usable() noexcept;

  // As close(2) and dup3(2) in the job.
  int close(int number) noexcept;
  int duplicate(int from, int to, int flags) noexcept;
  // The C library closes `number`, which this rank opened: other ranks drop their copies. Call it before and
  // after the close, because another rank may fetch the file in between.
  void let_go_elsewhere(int number) noexcept;
  // Descriptor 0, 1 or 2 refers to another file here now: it does so on every rank.
  void spread_standard(int number) noexcept;
  // Whether `number` belongs to the runtime: the program must not close it.
  bool is_internal(int number) const noexcept;
  // Whether `number` refers to an open file, near or far.
  bool is_open(int number) const noexcept;
  // One more than the highest number that may be open.
  int end() const noexcept;

 private:
  enum class State : std::uint8_t {
    own,     // opened here, or open when the job started
    absent,  // owned by another rank, not fetched
    held,    // owned by another rank, fetched under the same number
    far,     // owned by a rank on another host; the last two
    far_regular,
  };
  // Added to the flags of a descriptor that its owner gives: it is a regular file.
  static constexpr int given_regular = 1 << 8;
  // In place of a number: the opener is on another host, and keeps its file.
  static constexpr int of_other_host = -2;

  // For `caller`, at the owner of the descriptor (descriptor_service.cpp). Results: negative error numbers.
  int give(Rank caller, int number, std::uint64_t ticket, const DescriptorMail::Address& to) noexcept;
  int close_for(Rank caller, int number) noexcept;
  int put(Rank caller, int from, int to, int flags) noexcept;
  int duplicate_here(int from, int to, int flags) noexcept;
  int adopt(Rank caller, int number) noexcept;
  void drop_here(int number) noexcept;
  // Numbers of this rank that the program may have opened.
  struct OpenNumbers {
    std::uint32_t count;
    std::array<int, runtime::call_bytes_max / sizeof(int) - 1> numbers;
  };
  void list(OpenNumbers& open) noexcept;

  bool fetch(int number) noexcept;
  int receive_from(Rank rank, int number, int* flags) noexcept;
  int duplicate_far(int from, int to, int flags) noexcept;
  // `given`: the answer of its opener, on another host.
  void note_far(int number, int given) noexcept;
  void set_state(int number, State state) noexcept { states_[static_cast<std::size_t>(number)].store(state); }
  int close_own(int number, Rank but) noexcept;
  void drop_elsewhere(int number, Rank but) noexcept;
  bool is_own_range(int number) const noexcept;
  std::size_t first_number(Rank rank) const noexcept {
    return rank.value == 0 ? 0 : numbers_of_first_ + numbers_per_rank_ * (rank.value - 1);
  }
  State state(int number) const noexcept { return states_[static_cast<std::size_t>(number)].load(); }

  runtime::Runtime* runtime_ = nullptr;
  Rank self_{};
  std::uint32_t ranks_ = 1;
  std::size_t numbers_ = 0;  // numbers that start() made the job's; 0 in a job of one rank
  // Reserved before start(): all shared numbers, those of rank 0 (the first ones), those of each other rank.
  std::size_t shared_ = 0, numbers_of_first_ = 0, numbers_per_rank_ = 0;
  std::unique_ptr<std::atomic<State>[]> states_;
  // For each own number: the ranks that have fetched it, one bit each (ranks beyond 63 share the last).
  std::unique_ptr<std::atomic<std::uint64_t>[]> holders_;
  std::vector<bool> before_;               // numbers open when the process began
  std::vector<bool> opened_by_libraries_;  // numbers that the runtime uses, of those open at the start
  os::FileDescriptor nothing_;             // refers to no file; occupies numbers that must stay unused
  DescriptorMail mail_;
  std::mutex receiving_;
  std::uint64_t tickets_ = 0;
  OwnerCalls<&Descriptors::give, &Descriptors::close_for, &Descriptors::put, &Descriptors::duplicate_here,
             &Descriptors::adopt, &Descriptors::drop_here, &Descriptors::list>
      calls_;
};

}  // namespace musubi::image
