#include "task_stealing/stealing.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"

namespace musubi::task_stealing {

using trace::Counter;

Stealing::Stealing(Place place, const Habits& habits, Ports ports, Hooks hooks)
    : place_(std::move(place)),
      habits_(habits),
      calls_(ports.calls),
      order_(ports.order),
      tasks_(ports.tasks),
      bell_(ports.bell),
      counters_(ports.counters),
      hooks_(hooks),
      meeting_(place_.self, place_.ranks),
      victims_(place_.self, place_.ranks, place_.near, place_.seed),
      peers_(place_.ranks) {}

// A release covers the creation of a task if it began after that. It need not be made twice.
Task<> Stealing::cover(std::uint64_t epoch) {
  if (is_covered(epoch)) co_return;
  const std::uint64_t number = releases_begun_.fetch_add(1) + 1;
  co_await order_.release();
  std::uint64_t ended = releases_ended_.load();
  while (ended < number && !releases_ended_.compare_exchange_weak(ended, number)) {
  }
}

void Stealing::note_stamp(Rank peer, std::uint64_t stamp) {
  const Held held(lock_);
  std::uint64_t& known = peers_[peer.value].stamp;
  known = std::max(known, stamp);
}

void Stealing::count_waiting(Rank peer, bool waits) {
  lock_.lock();
  const bool changes = std::exchange(peers_[peer.value].waits, waits) != waits;
  lock_.unlock();
  if (!changes) return;
  waits ? awaited_.fetch_add(1) : awaited_.fetch_sub(1);
  tasks_.peer_waits(waits);
}

// Without room for them, the peer fetches them.
void Stealing::add_news(Rank peer, ParcelWriter& parcel) {
  lock_.lock();
  const std::uint64_t stamp = peers_[peer.value].stamp;
  lock_.unlock();
  parcel.add_news(order_.news_since(stamp, parcel.news_room()));
}

void Stealing::report(const StolenFrom& from, Reported what) {
  if (hooks_.injected(InjectedBug::subtree_reported_as_task) && what != Reported::fulfilled) {
    if (what == Reported::subtree_ended) return;
    what = Reported::both;
  }
  {
    const Held held(lock_);
    // An end that has not been sent yet goes with the end of the subtree.
    const auto same = std::find_if(reports_.begin(), reports_.end(), [&](const PendingReport& pending) {
      return pending.from == from && what != Reported::fulfilled && pending.what != Reported::fulfilled;
    });
    if (same != reports_.end()) {
      same->what = Reported::both;
      same->epoch = epoch();
    } else {
      reports_.push_back({from, what, epoch()});
    }
  }
  bell_.ring();
}

void Stealing::want_back(std::uint64_t task) {
  {
    const Held held(lock_);
    if (std::find(wanted_.begin(), wanted_.end(), task) != wanted_.end()) return;
    wanted_.push_back(task);
  }
  bell_.ring();
}

// Result: the newest epoch of the reports added; none: there are none.
std::optional<std::uint64_t> Stealing::add_reports(Rank peer, ParcelWriter& parcel) {
  std::optional<std::uint64_t> newest;
  const Held held(lock_);
  std::erase_if(reports_, [&](const PendingReport& pending) {
    if (pending.from.victim != peer || parcel.head.reports == reports_max) return false;
    parcel.add(Report{pending.from.number, pending.what, 0});
    newest = std::max(newest.value_or(0), pending.epoch);
    return true;
  });
  return newest;
}

// Takes tasks for `thief` and releases their creators' writes. `packed`: null, or gets what was taken.
Task<> Stealing::add_tasks(Rank thief, std::uint32_t count, const StolenFrom* below, ParcelWriter& parcel,
                           std::vector<Packed>* packed) {
  std::uint64_t newest = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    Departure departure;
    const std::span<std::byte> room = parcel.task_room();
    if (room.empty() || !tasks_.take(below, room, departure)) break;
    const std::uint64_t number = absent_.enter(departure.task, thief);
    parcel.add_task(number, departure.bytes);
    if (packed != nullptr) packed->push_back({departure.task, number});
    newest = std::max(newest, departure.epoch);
  }
  if (parcel.head.tasks == 0) co_return;
  if (!hooks_.injected(InjectedBug::stolen_without_release)) co_await cover(newest);
  add_news(thief, parcel);
}

// REQUIRES: the parcel's news have been acquired.
void Stealing::accept(Rank from, const ParcelView& parcel, std::uint64_t below) {
  parcel.for_each_task([&](std::uint64_t number, std::span<const std::byte> image) {
    tasks_.arrive({from, number}, below, image);
  });
}

// ---- reports ----

bool Stealing::count_reports(Rank from, const ParcelView& parcel) {
  for (std::size_t i = 0; i < parcel.head.reports; ++i) {
    const Report report = parcel.report(i);
    if (report.what == Reported::fulfilled) {
      if (!tasks_.fulfilled(report.number)) return false;
      continue;
    }
    const auto what = static_cast<std::uint32_t>(report.what);
    std::optional<std::uint64_t> ended, left;
    if ((what & static_cast<std::uint32_t>(Reported::ended)) != 0) {
      ended = absent_.end(report.number, from);
      if (!ended) return false;
      tasks_.ended(*ended);
    }
    if ((what & static_cast<std::uint32_t>(Reported::subtree_ended)) != 0) {
      left = absent_.leave(report.number, from);
      if (!left) return false;
      if (!ended && hooks_.injected(InjectedBug::predecessor_counted_twice)) tasks_.ended(*left);
      counters_.add(Counter::task_subtree_reports);
      tasks_.subtree_ended(*left);
    }
  }
  return true;
}

Task<> Stealing::send_reports() {
  for (;;) {
    Rank to{};
    {
      const Held held(lock_);
      if (reports_.empty()) co_return;
      to = reports_.front().from.victim;
    }
    ParcelWriter parcel;
    const std::optional<std::uint64_t> epoch = add_reports(to, parcel);
    if (!epoch) continue;
    if (!hooks_.injected(InjectedBug::reported_before_release)) co_await cover(*epoch);
    add_news(to, parcel);
    parcel.head.stamp = order_.acquired(to);
    std::array<std::byte, message_bytes_max> answer;
    const Calls::Answer got = co_await calls_.ask(to, parcel.bytes(), answer);
    const auto view = ParcelView::of(std::span<const std::byte>(answer).first(got.bytes));
    MUSUBI_CHECK(view, "rank %u: its answer to a report is damaged", to.value);
    note_stamp(to, view->head.stamp);
  }
}

// ---- messages of other ranks ----

Task<std::optional<std::size_t>> Stealing::answer(Rank from, std::span<const std::byte> request,
                                                  std::span<std::byte> answer) {
  const std::optional<ParcelView> asked = ParcelView::of(request);
  if (!asked || from.value >= place_.ranks) co_return std::nullopt;
  note_stamp(from, asked->head.stamp);
  if (asked->head.step != Step::none) {
    const bool taken = co_await take_step(from, asked->head);
    if (!taken) co_return std::nullopt;
  }
  ParcelWriter reply;
  if (asked->head.has_news) co_await order_.acquire(from, asked->news);
  if (!count_reports(from, *asked)) co_return std::nullopt;
  if (asked->head.tasks != 0) {
    reply.head.refused = !tasks_.is_hungry();
    if (!reply.head.refused) {
      counters_.add(Counter::tasks_pushed, asked->head.tasks);
      pushed_.store(true);
      parked_.store(false);
      accept(from, *asked, 0);
    }
  }
  if (asked->head.wanted != 0) {
    const StolenFrom below{from, asked->head.below};
    const bool is_near = std::find(place_.near.begin(), place_.near.end(), from) != place_.near.end();
    const std::uint32_t half = (tasks_.load() + 1) / 2;
    const std::uint32_t most = below.number != 0 || is_near ? 1 : half;
    co_await add_tasks(from, std::min<std::uint32_t>(most, asked->head.wanted),
                       below.number != 0 ? &below : nullptr, reply, nullptr);
    if (reply.head.tasks == 0 && asked->head.parks) count_waiting(from, true);
  }
  // Tasks that reports made ready have rung no bell, nor has one that was made before the rank was noted.
  if (is_awaited() && tasks_.load() != 0) bell_.ring();
  reply.head.load = tasks_.load();
  reply.head.stamp = order_.acquired(from);
  const std::span<const std::byte> bytes = reply.bytes();
  std::copy(bytes.begin(), bytes.end(), answer.begin());
  co_return bytes.size();
}

}  // namespace musubi::task_stealing
