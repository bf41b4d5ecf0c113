#include "fabric/mpi/carrier.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "fabric/messages/peer_session.h"
#include "fabric/mpi/adapter.h"
#include "os/clock.h"
#include "os/futex.h"
#include "os/sockets.h"

namespace musubi::fabric::mpi {
namespace {

constexpr std::uint64_t spin_max_ns = 50'000;
// Soon after a message an answer is likely. Later a nap adds a small fraction to the time that the rank has
// been quiet, and an idle job takes less than a hundredth of a core.
constexpr std::uint64_t near_ns = 100'000, near_nap_ns = 20'000;
constexpr std::uint64_t nap_min_ns = 50'000, nap_max_ns = 1'000'000, idle_part = 16;
constexpr std::uint64_t settle_max_ns = 10'000'000'000, settle_nap_ns = 100'000;
// Other ranks may still be connecting: after all ranks have met, each makes progress for a while.
constexpr std::uint64_t answer_ns = 100'000'000;
enum : std::size_t { to_receive, to_send };

std::size_t index(Sleeper sleeper) noexcept {
  return static_cast<std::size_t>(sleeper);
}

bool asks(const std::byte* message, std::size_t bytes) noexcept {
  MessageHead head;
  if (bytes < sizeof head) return true;
  std::memcpy(static_cast<void*>(&head), message, sizeof head);
  return head.asks;
}

}  // namespace

Carrier::Carrier(const musubi_mpi_calls& calls, SharedParcels& shared, bool spins, int tag)
    : calls_(calls), shared_(shared), spin_ns_(spins ? spin_max_ns : 0), tag_(tag) {
  for (int slot = 0; slot < musubi_mpi_slots; ++slot) {
    free_slots_[slot < static_cast<int>(receives_max) ? to_receive : to_send].push_back(slot);
  }
}

Result<void> Carrier::run() {
  os::sleep_exactly();
  if (!await_rank()) return {};
  std::uint64_t moved_ns = os::monotonic_ns();
  while (!stop_.load() && failure_.empty()) {
    const bool moved = carry();
    const std::uint64_t now_ns = os::monotonic_ns();
    if (moved) moved_ns = now_ns;
    if (now_ns - moved_ns >= spin_ns_) nap(now_ns - moved_ns);
  }
  if (failure_.empty()) return {};
  shared_.head().state.store(failed);
  for (const Sleeper sleeper : {Sleeper::waiter, Sleeper::service})
    os::WakeupPipe::ring_by(ropes_[index(sleeper)].number());
  return Error{failure_};
}

void Carrier::stop() noexcept {
  stop_.store(true);
  SharedParcels::Head& head = shared_.head();
  os::futex_wake(head.state);
  head.carrier_sleeps.store(0);
  os::futex_wake(head.carrier_sleeps);
}

// Result: whether the rank has arrived.
bool Carrier::await_rank() {
  constexpr std::uint64_t look_again_ns = 1'000'000'000;  // stop() may be called just before the sleep
  std::atomic<std::uint32_t>& state = shared_.head().state;
  while (state.load() == no_rank) {
    if (stop_.load()) return false;
    os::futex_wait(state, no_rank, look_again_ns);
  }
  state.store(open_ropes() ? served : cannot_call);
  os::futex_wake(state);
  return state.load() == served;
}

bool Carrier::open_ropes() {
  for (const Sleeper sleeper : {Sleeper::waiter, Sleeper::service}) {
    auto rope =
        os::WakeupPipe::open_write_end_of(shared_.head().process, shared_.head().ropes[index(sleeper)]);
    if (!rope) return false;
    ropes_[index(sleeper)] = std::move(rope).value();
  }
  return true;
}

void Carrier::take_marks() {
  shared_.to_carrier.take([this](std::uint32_t group, std::uint32_t marks) {
    for (; marks != 0; marks &= marks - 1) {
      const auto place = static_cast<std::uint32_t>(std::countr_zero(marks));
      const std::uint32_t parcel = group * parcels_of_group + place;
      if (place < parcels_of_way) {
        to_send_.push_back(parcel);
        moved_ = true;
      } else {
        empty_.push_back(parcel);
      }
    }
  });
}

void Carrier::begin_sends() {
  std::vector<int>& slots = free_slots_[to_send];
  while (!to_send_.empty() && !slots.empty()) {
    const std::uint32_t parcel = to_send_.front();
    const Label& label = shared_.label_of(parcel);
    check(calls_.send(slots.back(), shared_.bytes_of(parcel), static_cast<int>(label.bytes),
                      static_cast<int>(label.peer), tag_),
          "send");
    parcel_in_[slots.back()] = parcel;
    slots.pop_back();
    to_send_.pop_front();
  }
}

void Carrier::begin_receives() {
  std::vector<int>& slots = free_slots_[to_receive];
  while (!empty_.empty() && !slots.empty()) {
    check(calls_.receive(slots.back(), shared_.bytes_of(empty_.back()), parcel_bytes, tag_), "receive");
    parcel_in_[slots.back()] = empty_.back();
    slots.pop_back();
    empty_.pop_back();
  }
}

// Starts the requested operations. Calls each(done, whether it is a receive) for each completed one, whose
// slot is then free. Result: the number of completed operations.
template <typename Each>
int Carrier::look(Each each) {
  take_marks();
  begin_sends();
  begin_receives();
  musubi_mpi_done done[musubi_mpi_slots];
  int count = 0;
  check(calls_.look(done, &count), "make progress");
  for (int i = 0; i < count; ++i) {
    const bool has_come = done[i].slot < static_cast<int>(receives_max);
    free_slots_[has_come ? to_receive : to_send].push_back(done[i].slot);
    each(done[i], has_come);
  }
  return count;
}

// Result: whether messages moved.
bool Carrier::carry() {
  moved_ = false;
  if (owes_call_) {
    owes_call_ = false;
    if (shared_.to_rank.any()) call_some_sleeper();
  }
  look([this](const musubi_mpi_done& done, bool has_come) { has_ended(done, has_come); });
  return moved_;
}

void Carrier::has_ended(const musubi_mpi_done& done, bool has_come) {
  const std::uint32_t parcel = parcel_in_[done.slot];
  const std::uint32_t group = parcel / parcels_of_group, mark = 1u << parcel % parcels_of_group;
  check(done.error, has_come ? "receive" : "send");
  Label& label = shared_.label_of(parcel);
  const bool is_awaited = label.is_awaited;
  if (has_come) {
    moved_ = true;
    label.bytes = static_cast<std::uint32_t>(done.bytes);
  }
  const bool is_request = has_come && asks(shared_.bytes_of(parcel), label.bytes);
  shared_.to_rank.put(group, mark);
  if (is_request) {
    call_rank(Sleeper::service);
  } else if (has_come || is_awaited) {
    call_rank(Sleeper::waiter);
    owes_call_ = true;
  }
}

// Wakes this sleeper, if it sleeps.
void Carrier::call_rank(Sleeper sleeper) noexcept {
  std::atomic<std::uint32_t>& sleeps = shared_.head().sleeps[index(sleeper)];
  if (sleeps.load() != 0 && sleeps.exchange(0) != 0) os::WakeupPipe::ring_by(ropes_[index(sleeper)].number());
}

// For arrivals that no thread has taken since the last look.
void Carrier::call_some_sleeper() noexcept {
  const bool waiter_sleeps = shared_.head().sleeps[index(Sleeper::waiter)].load() != 0;
  call_rank(waiter_sleeps ? Sleeper::waiter : Sleeper::service);
}

// Sleeps until the rank calls, or for a limited time.
void Carrier::nap(std::uint64_t idle_ns) noexcept {
  std::atomic<std::uint32_t>& sleeps = shared_.head().carrier_sleeps;
  sleeps.store(1);
  if (!shared_.to_carrier.any() && !stop_.load()) {
    const std::uint64_t later_ns = std::clamp(idle_ns / idle_part, nap_min_ns, nap_max_ns);
    os::futex_wait(sleeps, 1, idle_ns < near_ns ? near_nap_ns : later_ns);
  }
  sleeps.store(0);
}

// Sends the rank's last messages, though no reply will be read. Receives and drops arrivals, because their
// senders wait for that.
bool Carrier::settle() {
  const std::uint64_t begin_ns = os::monotonic_ns();
  std::uint64_t there_ns = 0;
  while (failure_.empty()) {
    const std::uint64_t now_ns = os::monotonic_ns();
    if (there_ns != 0 && now_ns - there_ns > answer_ns) break;
    if (now_ns - begin_ns > settle_max_ns) return false;
    const int count = look([this](const musubi_mpi_done& done, bool has_come) {
      if (has_come) empty_.push_back(parcel_in_[done.slot]);
    });
    const bool all_have_left = to_send_.empty() && free_slots_[to_send].size() == sends_max;
    if (there_ns == 0 && all_have_left) {
      int all_are_there = 0;
      check(calls_.meet(&all_are_there), "bring the ranks together");
      if (all_are_there != 0) there_ns = os::monotonic_ns();
    }
    if (count == 0) os::sleep_ns(settle_nap_ns);
  }
  for (int slot = 0; slot < static_cast<int>(receives_max); ++slot)
    check(calls_.drop(slot), "drop a receive");
  return failure_.empty();
}

void Carrier::check(int error, const char* doing) {
  if (error != 0 && failure_.empty()) {
    failure_ = std::string("MPI does not ") + doing + ": " + text_of_error(calls_, error);
  }
}

}  // namespace musubi::fabric::mpi
