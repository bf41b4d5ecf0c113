#include "fabric/delayed/delayed_fabric.h"

#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/thread_safety.h"
#include "os/clock.h"

namespace musubi::fabric {
namespace {

using Stamp = std::uint64_t;  // after the body of a message: its time of arrival
static_assert(message_bytes_max + sizeof(Stamp) <= driver_message_bytes_max);

// The bytes that crossed the link. The data of a put or a call cross it even if the step was skipped.
std::size_t bytes_of(std::span<const Step> steps, bool outward) noexcept {
  constexpr std::size_t request_bytes = 32;
  std::size_t bytes = request_bytes;
  Verdict verdict = no_verdict;
  for (const Step& step : steps) {
    const bool left_out = step.after != no_verdict && step.after != verdict;
    if (step.verb == Verb::call) {
      if (outward) bytes += step.operand;
      if (left_out) continue;
      const auto* const end = static_cast<const CallEnd*>(step.local);
      verdict = end->verdict;
      if (!outward) bytes += end->bytes;
    } else if ((step.verb == Verb::put) == outward && (outward || !left_out)) {
      bytes += step.bytes;
    }
  }
  return bytes;
}

// Wake-up polling interval.
constexpr std::uint64_t nap_max_ns = 1'000'000;
// A nap that ended even later was delayed by other programs on the core.
constexpr std::uint64_t late_max_ns = 100'000;

}  // namespace

DelayedFabric::DelayedFabric(Fabric& near, Distance distance) noexcept
    : near_(near),
      round_trip_ns_(distance.round_trip_ns),
      bandwidth_delay_bytes_(bandwidth_delay_bytes(distance)),
      out_(distance.bits_per_second),
      in_(distance.bits_per_second) {}

Capabilities DelayedFabric::capabilities(Rank peer) const noexcept {
  return peer == self() ? near_.capabilities(peer)
                        : Capabilities{.bandwidth_delay_bytes = bandwidth_delay_bytes_};
}

Outcome DelayedFabric::post(Rank peer, std::span<const Step> steps, Event& completion) noexcept {
  const Outcome outcome = near_.post(peer, steps, completion);
  if (outcome == Outcome::busy || peer == self()) return outcome;
  MUSUBI_CHECK(outcome == Outcome::done, "the driver below completes batches later");
  const std::uint64_t now = os::monotonic_ns();
  const std::uint64_t sent = out_.send(now, bytes_of(steps, true));
  const std::uint64_t received = in_.send(now, bytes_of(steps, false));
  {
    const Held held(lock_);
    batches_.push_back({std::max(sent, received) + round_trip_ns_, &completion});
    std::push_heap(batches_.begin(), batches_.end());
  }
  return Outcome::pending;
}

Outcome DelayedFabric::send(Rank peer, MessageKind kind, Urgency urgency,
                            std::span<const std::byte> body) noexcept {
  MUSUBI_CHECK(body.size() <= message_bytes_max, "a message of %zu bytes", body.size());
  Stamp due = 0;
  if (peer != self()) due = out_.send(os::monotonic_ns(), body.size()) + round_trip_ns_ / 2;
  std::array<std::byte, message_bytes_max + sizeof due> stamped;
  std::copy(body.begin(), body.end(), stamped.begin());
  std::memcpy(stamped.data() + body.size(), &due, sizeof due);
  return near_.send(peer, kind, urgency, std::span(stamped).first(body.size() + sizeof due));
}

void DelayedFabric::listen(MessageKind kind, Listener* listener) noexcept {
  const auto number = static_cast<std::size_t>(kind);
  listeners_[number] = listener;
  arrivals_[number].fabric = this;
  arrivals_[number].kind = kind;
  near_.listen(kind, &arrivals_[number]);
}

const char* DelayedFabric::Arrivals::on_message(Rank from, std::span<const std::byte> body) noexcept {
  Message message;
  message.from = from;
  message.kind = kind;
  message.bytes = static_cast<std::uint32_t>(body.size() - sizeof(Stamp));
  std::memcpy(&message.due, body.data() + message.bytes, sizeof(Stamp));
  std::memcpy(message.body.data(), body.data(), message.bytes);
  fabric->hold(message);
  return nullptr;
}

void DelayedFabric::hold(const Message& message) noexcept {
  {
    const Held held(lock_);
    messages_.push_back(message);
  }
  // The thread that received it may leave before it is due, and other threads may sleep until it is
  // delivered.
  if (service_rests_.load()) near_.wake_service();
}

bool DelayedFabric::progress() noexcept {
  const bool arrived = near_.progress();
  const std::uint64_t now = os::monotonic_ns();
  const bool completed = complete_batches(now);
  const bool delivered = deliver(now);
  return arrived || completed || delivered;
}

bool DelayedFabric::complete_batches(std::uint64_t now) noexcept {
  for (bool any = false;; any = true) {
    Event* completion = nullptr;
    {
      const Held held(lock_);
      if (batches_.empty() || batches_.front().due > now) return any;
      completion = batches_.front().completion;
      std::pop_heap(batches_.begin(), batches_.end());
      batches_.pop_back();
    }
    completion->set();
  }
}

// One thread at a time, so that messages of one sender keep their order.
bool DelayedFabric::deliver(std::uint64_t now) noexcept {
  if (delivering_.exchange(true)) return false;
  Message message;
  bool any = false;
  while (take_message(now, message)) {
    listeners_[static_cast<std::size_t>(message.kind)]->take(message.from,
                                                             std::span(message.body).first(message.bytes));
    any = true;
  }
  delivering_.store(false);
  return any;
}

bool DelayedFabric::take_message(std::uint64_t now, Message& message) noexcept {
  const Held held(lock_);
  if (messages_.empty() || messages_.front().due > now) return false;
  message = messages_.front();
  messages_.pop_front();
  return true;
}

std::uint64_t DelayedFabric::next_due() noexcept {
  const Held held(lock_);
  const std::uint64_t batch = batches_.empty() ? never : batches_.front().due;
  return messages_.empty() ? batch : std::min(batch, messages_.front().due);
}

void DelayedFabric::wait(const std::atomic<bool>& ready) noexcept {
  const std::uint32_t wakes = wakes_.load();
  const std::uint64_t due = next_due();
  if (due == never) return near_.wait(ready);
  while (!ready.load() && wakes_.load() == wakes && os::monotonic_ns() < due) sleep_.pass_to_the_point(due);
}

void DelayedFabric::wake() noexcept {
  wakes_.fetch_add(1);
  near_.wake();
}

void DelayedFabric::wait_for_service() noexcept {
  service_rests_.store(true);
  const std::uint64_t due = next_due();
  if (due == never) {
    near_.wait_for_service();
    service_rests_.store(false);
    return;
  }
  service_rests_.store(false);
  while (!service_called_.exchange(false) && os::monotonic_ns() < due) sleep_.pass(due);
}

void DelayedFabric::wake_service() noexcept {
  service_called_.store(true);
  near_.wake_service();
}

std::byte* DelayedFabric::direct(Rank peer, RegionId region) noexcept {
  return peer == self() ? near_.direct(peer, region) : nullptr;
}

bool DelayedFabric::watch(std::atomic_ref<std::uint64_t> word, std::uint64_t unwanted) noexcept {
  return near_.watch(word, unwanted);
}

void PreciseSleep::pass_to_the_point(std::uint64_t due) noexcept {
  const std::uint64_t now = os::monotonic_ns();
  if (due <= now) return;
  const bool near = due - now <= late_ns_.load(std::memory_order_relaxed);
  if (near && yields_.allowed(1) != 0) {
    yields_.yield();
  } else {
    nap_until(now, due);
  }
}

void PreciseSleep::pass(std::uint64_t due) noexcept {
  const std::uint64_t now = os::monotonic_ns();
  if (due > now) nap_until(now, due);
}

void PreciseSleep::nap_until(std::uint64_t now, std::uint64_t due) noexcept {
  const std::uint64_t before = late_ns_.load(std::memory_order_relaxed);
  const std::uint64_t asked = std::min(due - now > before ? due - now - before : 1, nap_max_ns);
  const timespec length{0, static_cast<long>(asked)};
  ::prctl(PR_SET_TIMERSLACK, 1);  // for exact naps; cheap compared to one
  const std::uint64_t begin = os::monotonic_ns();
  ::nanosleep(&length, nullptr);
  const std::uint64_t lasted = os::monotonic_ns() - begin;
  const std::uint64_t late = std::min(lasted > asked ? lasted - asked : 0, late_max_ns);
  late_ns_.store((3 * before + late) / 4, std::memory_order_relaxed);
}

}  // namespace musubi::fabric
