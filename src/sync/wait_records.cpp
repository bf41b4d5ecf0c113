#include "sync/wait_records.h"

#include <cstring>

#include "base/check.h"
#include "coherence/regions.h"
#include "fabric/transfer.h"

namespace musubi::sync {
namespace {

using coherence::control_region;
using fabric::Step;

// The words of a record's lock, at each rank: owner and tail.
constexpr std::size_t lock_bytes = 2 * sizeof(std::uint64_t);

// Reads the record in the operation that takes its lock.
class LookAlong final : public remote_lock::Piggyback {
 public:
  LookAlong(Rank home, std::uint64_t at, WaitRecord& record)
      : home_(home), step_(fabric::get(control_region, at, &record, sizeof record)) {}
  std::span<const Step> steps_for(Rank holder) noexcept override {
    return holder == home_ ? std::span(&step_, 1) : std::span<const Step>();
  }

 private:
  const Rank home_;
  const Step step_;
};

std::size_t lines(std::size_t bytes) {
  return (bytes + 63) / 64 * 64;
}
std::size_t record_bytes_for(std::uint32_t ranks) {
  return lines(sizeof(WaitRecord) + WaitRecords::mark_words(ranks) * sizeof(std::uint64_t));
}
std::size_t bytes_of_records(std::uint32_t ranks, std::size_t count) {
  MUSUBI_CHECK(ranks != 0);
  return (count + ranks - 1) / ranks * record_bytes_for(ranks);
}

}  // namespace

std::size_t WaitRecords::bytes(std::uint32_t ranks, std::size_t count, std::uint32_t waiters_max) {
  return lines(count * lock_bytes) + bytes_of_records(ranks, count) + waiters_max * sizeof(std::uint64_t);
}

WaitRecords::WaitRecords(fabric::Fabric& fabric, remote_lock::Grants& grants, std::byte* own,
                         std::uint64_t offset, std::size_t count, std::uint32_t waiters_max, Hooks hooks)
    : fabric_(fabric),
      grants_(grants),
      record_bytes_(record_bytes_for(fabric.ranks())),
      records_at_(offset + lines(count * lock_bytes)),
      nodes_at_(records_at_ + bytes_of_records(fabric.ranks(), count)),
      nodes_max_(waiters_max),
      own_nodes_(reinterpret_cast<std::uint64_t*>(own + (nodes_at_ - offset))),
      locks_(fabric, grants, {control_region, offset, lock_bytes, sizeof(std::uint64_t), own},
             remote_lock::LockKey::of_record, hooks),
      hooks_(hooks) {
  MUSUBI_CHECK(waiters_max < WaiterLink::nodes_max);
}

WaitRecords::Waiter::Waiter(WaitRecords& records, bool exclusive)
    : records_(records), link_(WaiterLink::of(records.fabric_.self(), records.take_node(), exclusive)) {
  grant.key = remote_lock::LockKey::of_waiter(link_.node());
  grant.serial = records.serial_.fetch_add(1) + 1;
  records.grants_.expect(grant);
}

WaitRecords::Waiter::~Waiter() {
  records_.give_back_node(link_.node());
}

std::uint32_t WaitRecords::take_node() noexcept {
  node_lock_.lock();
  std::uint32_t node = first_free_ - 1;
  if (first_free_ == 0) {
    node = ever_taken_++;
    MUSUBI_CHECK(node < nodes_max_, "more than %u threads of a rank wait at once", nodes_max_);
  } else {
    first_free_ = static_cast<std::uint32_t>(own_nodes_[node]);
  }
  node_lock_.unlock();
  std::atomic_ref(own_nodes_[node]).store(0);
  return node;
}

void WaitRecords::give_back_node(std::uint32_t node) noexcept {
  MUSUBI_CHECK(node < nodes_max_);
  node_lock_.lock();
  MUSUBI_CHECK(node < ever_taken_);
  own_nodes_[node] = first_free_;
  first_free_ = node + 1;
  node_lock_.unlock();
}

// The record comes along with its lock if its home had the lock.
Task<WaitRecords::Opened> WaitRecords::open(std::uint64_t index) {
  MUSUBI_CHECK(record_at(index) < nodes_at_, "there is no record %lu", static_cast<unsigned long>(index));
  Gate::Pass pass = co_await gates_[index % gate_count].enter();
  Opened opened{std::move(pass), index, {}};
  LookAlong look_along(home(index), record_at(index), opened.record);
  const remote_lock::Acquisition taken = co_await locks_.lock(index, home(index), &look_along);
  if (!taken.was_along || taken.previous != home(index)) opened.record = co_await look(index);
  co_return opened;
}

Task<WaitRecord> WaitRecords::look(std::uint64_t index) {
  WaitRecord record;
  std::array<Step, 1> step{fabric::get(control_region, record_at(index), &record, sizeof record)};
  co_await fabric::transfer(fabric_, home(index), step);
  co_return record;
}

Task<> WaitRecords::store(const Opened& opened) {
  std::array<Step, 1> step{
      fabric::put(control_region, record_at(opened.index), &opened.record, sizeof opened.record)};
  co_await fabric::transfer(fabric_, home(opened.index), step);
}

Task<> WaitRecords::close(Opened& opened) {
  if (hooks_.injected(InjectedBug::wait_record_unlocked_first)) {
    co_await close_unchanged(opened);
    co_return co_await store(opened);
  }
  co_await store(opened);
  co_await close_unchanged(opened);
}

Task<> WaitRecords::close_unchanged(Opened& opened) {
  co_await locks_.unlock(opened.index);
  const Gate::Pass left = std::move(opened.pass);
}

Task<WaiterLink> WaitRecords::next_of(WaiterLink link) {
  MUSUBI_CHECK(!link.is_none());
  WaiterLink next;
  std::array<Step, 1> step{fabric::get(control_region, node_at(link.node()), &next.raw, sizeof next.raw)};
  co_await fabric::transfer(fabric_, link.rank(), step);
  co_return next;
}

Task<> WaitRecords::set_next(WaiterLink link, WaiterLink next) {
  MUSUBI_CHECK(!link.is_none() && link != next);
  std::array<Step, 1> step{fabric::put(control_region, node_at(link.node()), &next.raw, sizeof next.raw)};
  co_await fabric::transfer(fabric_, link.rank(), step);
}

Task<> WaitRecords::append(Opened& opened, const Waiter& waiter) {
  MUSUBI_CHECK(!waiter.link().is_none());
  WaitRecord& record = opened.record;
  if (record.first.is_none()) {
    record.first = waiter.link();
  } else {
    co_await set_next(record.last, waiter.link());
  }
  record.last = waiter.link();
}

Task<WaiterLink> WaitRecords::pop(Opened& opened) {
  MUSUBI_CHECK(!opened.record.first.is_none() && !opened.record.last.is_none());
  WaitRecord& record = opened.record;
  const WaiterLink first = record.first;
  MUSUBI_CHECK(!first.is_none());
  if (first == record.last) {
    record.first = record.last = {};
  } else {
    record.first = co_await next_of(first);
  }
  co_return first;
}

Task<bool> WaitRecords::remove(Opened& opened, WaiterLink link) {
  MUSUBI_CHECK(!link.is_none());
  WaitRecord& record = opened.record;
  WaiterLink before;
  for (WaiterLink at = record.first; !at.is_none();) {
    // The last node's word may not yet be linked.
    WaiterLink next;
    if (at != record.last) next = co_await next_of(at);
    if (at == link) {
      if (before.is_none()) {
        record.first = next;
      } else {
        co_await set_next(before, next);
      }
      if (at == record.last) record.last = before;
      co_return true;
    }
    before = at;
    at = next;
  }
  co_return false;
}

Task<> WaitRecords::wake(WaiterLink link, std::span<const std::byte> payload) {
  MUSUBI_CHECK(!link.is_none() && link.rank().value < fabric_.ranks());
  MUSUBI_CHECK(!link.is_none() && link.node() < nodes_max_ && link.rank().value < fabric_.ranks());
  const auto key = remote_lock::LockKey::of_waiter(link.node());
  struct {
    remote_lock::LockKey key;
    std::array<std::byte, waking_payload_max> payload;
  } message{key, {}};
  MUSUBI_CHECK(payload.empty() || payload.size() == waking_payload_max);
  if (!payload.empty()) std::memcpy(message.payload.data(), payload.data(), payload.size());
  co_await fabric::deliver(fabric_, link.rank(), fabric::MessageKind::lock_granted,
                           fabric::Urgency::when_polled,
                           std::as_bytes(std::span{&message, 1}).first(sizeof key + payload.size()));
}

}  // namespace musubi::sync
