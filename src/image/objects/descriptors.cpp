#include "image/objects/descriptors.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/cause.h"
#include "image/process/call_result.h"
#include "image/process/open_file_limit.h"
#include "image/process/refusal.h"
#include "os/errno_kept.h"
#include "os/own_files.h"

namespace musubi::image {
namespace {

constexpr int standard_end = 3;
// Numbers that the job shares: below FD_SETSIZE while each rank gets numbers_per_rank_wanted; larger jobs use
// up to numbers_wanted_max, more only if each rank would get fewer than it needs.
constexpr std::size_t numbers_of_select = 1024, numbers_per_rank_wanted = 256, numbers_wanted_max = 4096;
constexpr std::size_t numbers_per_rank_needed = 5;
// After the shared numbers, each rank has numbers of its own: the runtime's files, connections to other
// ranks, and files that the program opens when its shared numbers are used up.
constexpr std::size_t numbers_alone_wanted = 1024, numbers_alone_needed = 64, connections_per_rank = 2;
// Rank 0 runs main, which opens most files.
constexpr std::size_t part_of_first = 16;

// Direct system calls: the wrappers that the program uses call this class.
long bare_close(int number) noexcept {
  return ::syscall(SYS_close, number);
}
long bare_duplicate(int from, int to, int flags) noexcept {
  return ::syscall(SYS_dup3, from, to, flags);
}
int flags_of(int number) noexcept {
  return static_cast<int>(::syscall(SYS_fcntl, number, F_GETFD));
}

std::vector<bool> open_numbers(std::size_t first) {
  std::vector<bool> result;
  DIR* const folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return result;
  // The kernel makes a file of /proc for each number that it lists. The offset skips the numbers below
  // `first` and the two entries for folders.
  constexpr long folders = 2;
  if (first != 0) ::seekdir(folder, folders + static_cast<long>(first));
  while (const dirent* entry = ::readdir(folder)) {
    const long number = std::strtol(entry->d_name, nullptr, 10);
    if (entry->d_name[0] == '.' || number == ::dirfd(folder)) continue;
    if (static_cast<std::size_t>(number) >= result.size())
      result.resize(static_cast<std::size_t>(number) + 1);
    result[static_cast<std::size_t>(number)] = true;
  }
  ::closedir(folder);
  return result;
}

bool contains(const std::vector<bool>& numbers, std::size_t number) {
  return number < numbers.size() && numbers[number];
}

struct Numbers {
  std::size_t shared, alone;
};

// Raises the limit on open files as needed. Result: the numbers that it allows, possibly fewer than needed.
Numbers numbers_for(std::uint32_t ranks) {
  const std::size_t connections = connections_per_rank * ranks;
  const std::size_t alone = std::max(numbers_alone_wanted, numbers_alone_needed + connections);
  const std::size_t shared =
      std::max({std::min(std::max(numbers_per_rank_wanted * ranks, numbers_of_select), numbers_wanted_max),
                2 * numbers_per_rank_needed * ranks});
  const auto all = static_cast<std::size_t>(raise_open_files(shared + alone));
  if (all >= shared + alone) return {shared, alone};
  const std::size_t alone_at_least = std::min(all, numbers_alone_needed + connections);
  const std::size_t left = std::min(shared, all - alone_at_least);
  return {left, all - left};
}

std::uint64_t bit_of(Rank rank) noexcept {
  return std::uint64_t{1} << std::min(rank.value, 63u);
}

}  // namespace

Result<void> Descriptors::reserve_numbers(Rank self, std::uint32_t ranks, bool one_output) {
  if (ranks == 1) return {};
  self_ = self;
  ranks_ = ranks;
  before_ = open_numbers(0);
  const Numbers numbers = numbers_for(ranks);
  if (numbers.shared < numbers_per_rank_needed * ranks) {
    const std::size_t needed =
        (numbers_per_rank_needed + connections_per_rank) * ranks + numbers_alone_needed;
    return Error{"a job of " + std::to_string(ranks) + " ranks needs at least " + std::to_string(needed) +
                 " open files: raise the limit (ulimit -n)"};
  }
  shared_ = numbers.shared;
  numbers_of_first_ = std::max(shared_ / ranks, shared_ / part_of_first);
  numbers_per_rank_ = (shared_ - numbers_of_first_) / (ranks - 1);
  shared_ = numbers_of_first_ + numbers_per_rank_ * (ranks - 1);
  states_ = std::make_unique<std::atomic<State>[]>(shared_);
  holders_ = std::make_unique<std::atomic<std::uint64_t>[]>(shared_);
  // O_PATH: reading and writing fail as on a number that is not open.
  os::FileDescriptor nothing(::open("/dev/null", O_PATH | O_CLOEXEC));
  nothing_ = os::FileDescriptor(::fcntl(nothing.number(), F_DUPFD_CLOEXEC, static_cast<int>(shared_)));
  if (nothing_.number() < 0) return Error{"no descriptor left: " + cause_of(errno)};
  nothing.close();  // its number, too, stays occupied until start()
  for (std::size_t number = 0; number < shared_; ++number) {
    const bool before = number >= standard_end && contains(before_, number);
    const bool own =
        is_own_range(static_cast<int>(number)) || number == 2 || (number == 1 && !one_output) || before;
    states_[number].store(own ? State::own : State::absent, std::memory_order_relaxed);
    if (number >= standard_end && !before)
      bare_duplicate(nothing_.number(), static_cast<int>(number), O_CLOEXEC);
  }
  os::keep_own_sockets_from(static_cast<int>(shared_));
  return {};
}

Result<void> Descriptors::start(runtime::Runtime& runtime) {
  runtime_ = &runtime;
  if (ranks_ == 1) return {};
  if (auto opened = mail_.open(); !opened) return opened;
  calls_.start(runtime, procedures::descriptors, *this);
  opened_by_libraries_ = open_numbers(shared_);
  for (std::size_t number = 0; number < opened_by_libraries_.size(); ++number) {
    if (contains(before_, number) || os::is_own_file(static_cast<int>(number)))
      opened_by_libraries_[number] = false;
  }
  // From here on the kernel gives this rank's numbers to files that the program opens.
  for (std::size_t number = std::max<std::size_t>(first_number(self_), standard_end);
       number < first_number(Rank{self_.value + 1}); ++number) {
    if (!contains(before_, number)) bare_close(static_cast<int>(number));
  }
  numbers_ = shared_;
  return {};
}

bool Descriptors::is_own_range(int number) const noexcept {
  return owner(number) == self_;
}
bool Descriptors::is_internal(int number) const noexcept {
  return contains(opened_by_libraries_, static_cast<std::size_t>(number)) || os::is_own_file(number);
}
bool Descriptors::is_open(int number) const noexcept {
  if (static_cast<std::size_t>(number) < numbers_ && state(number) != State::own)
    return state(number) != State::absent;
  return flags_of(number) >= 0;
}
int Descriptors::end() const noexcept {
  rlimit limit{};
  ::syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, nullptr, &limit);
  return static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 1 << 20));
}

bool Descriptors::fetch(int number) noexcept {
  const os::ErrnoKept errno_kept;
  // Under this lock, a close that happens during the transfer drops the file after its arrival.
  const std::lock_guard lock(receiving_);
  if (state(number) != State::absent) return true;
  int flags = 0;
  const int received = receive_from(owner(number), number, &flags);
  if (received == of_other_host) {
    note_far(number, flags);
    return true;
  }
  if (received < 0) return false;
  bare_duplicate(received, number, (flags & FD_CLOEXEC) != 0 ? O_CLOEXEC : 0);
  bare_close(received);
  set_state(number, State::held);
  return true;
}

void Descriptors::note_far(int number, int given) noexcept {
  set_state(number, (given & given_regular) != 0 ? State::far_regular : State::far);
}

// A new number for the file `number` of `rank`, of_other_host, or -1. REQUIRES: receiving_ is held.
int Descriptors::receive_from(Rank rank, int number, int* flags) noexcept {
  const std::uint64_t ticket = ++tickets_;
  const std::int64_t answer = calls_.at<&Descriptors::give>(rank, self_, number, ticket, mail_.address());
  if (answer < 0) return -1;
  *flags = static_cast<int>(answer);
  return runtime_->hosts().together(rank, self_) ? mail_.receive(ticket) : of_other_host;
}

void Descriptors::drop_here(int number) noexcept {
  const std::lock_guard lock(receiving_);
  const State before = state(number);
  if (before != State::held && before < State::far) return;
  set_state(number, State::absent);
  if (before >= State::far) return;
  bare_duplicate(nothing_.number(), number, O_CLOEXEC);
}

void Descriptors::drop_elsewhere(int number, Rank but) noexcept {
  if (static_cast<std::size_t>(number) >= numbers_) return;
  const std::uint64_t holders = holders_[static_cast<std::size_t>(number)].exchange(0);
  if (holders == 0) return;
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    if (Rank{rank} == self_ || Rank{rank} == but || (holders & bit_of(Rank{rank})) == 0) continue;
    calls_.at<&Descriptors::drop_here>(Rank{rank}, number);
  }
}

void Descriptors::let_go_elsewhere(int number) noexcept {
  drop_elsewhere(number, self_);
}

int Descriptors::close_own(int number, Rank but) noexcept {
  drop_elsewhere(number, but);
  const int error = bare_close(number) == 0 ? 0 : errno;
  drop_elsewhere(number, but);  // another rank may have fetched it in between
  return -error;
}

int Descriptors::close(int number) noexcept {
  int result;
  if (is_internal(number)) {
    result = -EBADF;
  } else if (static_cast<std::size_t>(number) >= numbers_ || state(number) == State::own) {
    result = close_own(number, self_);
    if (result == 0 && number < standard_end) spread_standard(number);
  } else {
    drop_here(number);
    result = static_cast<int>(calls_.at<&Descriptors::close_for>(owner(number), self_, number));
  }
  return fail(-result);
}

int Descriptors::duplicate(int from, int to, int flags) noexcept {
  if (is_internal(to) || !make_usable(from)) {
    return fail(EBADF);
  }
  const bool elsewhere = static_cast<std::size_t>(to) < numbers_ && state(to) != State::own;
  if (is_far(from) || (elsewhere && !runtime_->hosts().together(owner(to), self_)))
    return duplicate_far(from, to, flags);
  if (!elsewhere) {
    let_go_elsewhere(to);
    const auto result = static_cast<int>(bare_duplicate(from, to, flags));
    let_go_elsewhere(to);
    if (result >= 0 && to < standard_end) spread_standard(to);
    return result;
  }
  const auto error = static_cast<int>(calls_.at<&Descriptors::put>(owner(to), self_, from, to, flags));
  if (error != 0) return fail(-error);
  states_[static_cast<std::size_t>(to)].store(State::held);
  return static_cast<int>(bare_duplicate(from, to, flags));
}

// At least one of the two files is on another host: the rank that owns both duplicates it.
int Descriptors::duplicate_far(int from, int to, int flags) noexcept {
  const auto end = static_cast<int>(numbers_);
  if (from >= end || to >= end || owner(from) != owner(to)) {
    report_refused_call("dup2 was refused: the two descriptors are on different hosts",
                        "open the file where it is to be used");
    return fail(EXDEV);
  }
  const auto error = static_cast<int>(calls_.at<&Descriptors::duplicate_here>(owner(to), from, to, flags));
  return error == 0 ? to : fail(-error);
}

void Descriptors::spread_standard(int number) noexcept {
  if (numbers_ == 0) return;
  if (number == 0) return drop_elsewhere(number, self_);
  if (number == 1 && state(1) == State::absent) return;  // rank 0 owns it
  calls_.at_others<&Descriptors::adopt>(self_, number);
}

void Descriptors::make_all_usable() noexcept {
  if (numbers_ == 0) return;
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    if (Rank{rank} == self_) continue;
    OpenNumbers open{};
    calls_.at<&Descriptors::list>(Rank{rank}, open);
    for (std::uint32_t i = 0; i < open.count; ++i) make_usable(open.numbers[i]);
  }
}

}  // namespace musubi::image
