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

void Stealing::report(const Origin& origin, Reported what) {
  if (hooks_.injected(InjectedBug::subtree_reported_as_task) && what != Reported::fulfilled) {
    if (what == Reported::subtree_ended) return;
    what = Reported::both;
  }
  {
    const Held held(lock_);
    // An end that has not been sent yet goes with the end of the subtree.
    const auto same = std::find_if(reports_.begin(), reports_.end(), [&](const PendingReport& pending) {
      return pending.origin == origin && what != Reported::fulfilled && pending.what <= Reported::both;
    });
    if (same != reports_.end()) {
      same->what = Reported::both;
      same->epoch = epoch();
    } else {
      reports_.push_back({origin, what, {}, epoch()});
    }
  }
  bell_.ring();
}

void Stealing::add_wishes(const std::vector<std::uint64_t>& numbers, bool stay) {
  {
    const Held held(lock_);
    for (const std::uint64_t number : numbers) {
      const auto same = [number](const Wish& wish) { return wish.number == number; };
      if (std::find_if(wishes_.begin(), wishes_.end(), same) == wishes_.end())
        wishes_.push_back({number, stay});
    }
    if (wishes_.empty()) return;
  }
  bell_.ring();
}

void Stealing::forget_wishes() {
  const Held held(lock_);
  wishes_.clear();
}

// Releases what they tell of.
Task<> Stealing::add_reports(Rank peer, ParcelWriter& parcel) {
  std::optional<std::uint64_t> newest;
  {
    const Held held(lock_);
    std::erase_if(reports_, [&](const PendingReport& pending) {
      if (pending.origin.home != peer || parcel.head.reports == reports_max) return false;
      parcel.add(Report{pending.origin.number, pending.what, pending.origin.moves, pending.holder.value, 0});
      if (pending.what != Reported::moved) newest = std::max(newest.value_or(0), pending.epoch);
      return true;
    });
  }
  if (!newest) co_return;
  if (!hooks_.injected(InjectedBug::reported_before_release)) co_await cover(*newest);
  add_news(peer, parcel);
}

// Takes tasks for `thief` and releases their creators' writes.
Task<> Stealing::add_tasks(Rank thief, std::uint32_t count, const Choice& choice, ParcelWriter& parcel) {
  std::uint64_t newest = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    Departure departure;
    const std::span<std::byte> room = parcel.task_room();
    if (room.empty() || !tasks_.take(choice, room, departure)) break;
    Origin origin;
    if (departure.origin) {
      origin = *departure.origin;
      ++origin.moves;
      const Held held(lock_);
      if (thief != origin.home) reports_.push_back({origin, Reported::moved, thief, 0});
    } else {
      origin = {place_.self, 1, absent_.enter(departure.task, thief)};
    }
    parcel.add_task(origin, departure.bytes);
    newest = std::max(newest, departure.epoch);
  }
  if (parcel.head.tasks == 0) co_return;
  tasks_.departed();
  if (!hooks_.injected(InjectedBug::stolen_without_release)) co_await cover(newest);
  add_news(thief, parcel);
}

// Tasks that come too early are kept for the assistant. Result: as accept().
Task<bool> Stealing::receive_tasks(Rank from, std::span<const std::byte> bytes) {
  if (tasks_.is_open() || hooks_.injected(InjectedBug::tasks_in_quiescence))
    co_return co_await accept(from, *ParcelView::of(bytes));
  {
    const Held held(lock_);
    early_.push_back({from, {bytes.begin(), bytes.end()}});
    early_count_.store(early_.size());
  }
  bell_.ring();
  co_return true;
}

Task<> Stealing::accept_early() {
  if (early_count_.load() == 0 || !tasks_.is_open()) co_return;
  std::vector<EarlyParcel> early;
  {
    const Held held(lock_);
    early.swap(early_);
    early_count_.store(0);
  }
  for (const EarlyParcel& parcel : early) {
    const bool right = co_await accept(parcel.from, *ParcelView::of(parcel.bytes));
    MUSUBI_CHECK(right, "rank %u sent tasks that are not on their way", parcel.from.value);
  }
}

// Result: false if it names tasks that cannot come here.
Task<bool> Stealing::accept(Rank from, const ParcelView& parcel) {
  if (parcel.head.has_news) co_await order_.acquire(from, parcel.news);
  bool right = true;
  parcel.for_each_task([&](const Origin& origin, std::span<const std::byte> image) {
    if (origin.home != place_.self) {
      right = right && origin.home.value < place_.ranks;
      if (right) tasks_.arrive(origin, image);
      return;
    }
    const std::optional<std::uint64_t> task = absent_.come_home(origin.number);
    right = right && task;
    if (task) tasks_.come_home(*task);
  });
  co_return right;
}

// ---- reports ----

bool Stealing::count_end(const Report& report) {
  const auto what = static_cast<std::uint32_t>(report.what);
  std::optional<std::uint64_t> ended, left;
  if ((what & static_cast<std::uint32_t>(Reported::ended)) != 0) {
    ended = absent_.end(report.number);
    if (!ended) return false;
    tasks_.ended(*ended);
  }
  if ((what & static_cast<std::uint32_t>(Reported::subtree_ended)) != 0) {
    left = absent_.leave(report.number);
    if (!left) return false;
    if (!ended && hooks_.injected(InjectedBug::predecessor_counted_twice)) tasks_.ended(*left);
    counters_.add(Counter::task_subtree_reports);
    tasks_.subtree_ended(*left);
  }
  return true;
}

// Result: false if they cannot be true.
bool Stealing::count_reports(const ParcelView& parcel) {
  for (std::size_t i = 0; i < parcel.head.reports; ++i) {
    const Report report = parcel.report(i);
    bool right = true;
    if (report.what == Reported::fulfilled) {
      right = tasks_.fulfilled(report.number);
    } else if (report.what == Reported::moved) {
      right = report.holder < place_.ranks;
      if (right) absent_.move(report.number, report.moves, Rank{report.holder});
    } else {
      right = count_end(report);
    }
    if (!right) return false;
  }
  return true;
}

Task<> Stealing::send_reports() {
  for (;;) {
    Rank to{};
    {
      const Held held(lock_);
      if (reports_.empty()) co_return;
      to = reports_.front().origin.home;
    }
    ParcelWriter parcel;
    co_await add_reports(to, parcel);
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
  if (asked->head.tasks == 0) {
    if (asked->head.has_news) co_await order_.acquire(from, asked->news);
    if (!count_reports(*asked)) co_return std::nullopt;
  } else {
    if (asked->head.reports != 0) co_return std::nullopt;  // these do not come together
    counters_.add(Counter::tasks_pushed, asked->head.tasks);
    pushed_.store(true);
    parked_.store(false);
    const bool right = co_await receive_tasks(from, request);
    if (!right) co_return std::nullopt;
  }
  if (asked->head.wanted != 0) {
    const Origin below{from, 0, asked->head.below};
    const bool is_near = std::find(place_.near.begin(), place_.near.end(), from) != place_.near.end();
    const std::uint32_t half = (tasks_.load() + 1) / 2;
    const std::uint32_t most = below.number != 0 || is_near ? 1 : half;
    const Choice choice{below.number != 0 ? Choice::Kind::below : Choice::Kind::any, below};
    co_await add_tasks(from, std::min<std::uint32_t>(most, asked->head.wanted), choice, reply);
    if (reply.head.tasks == 0 && asked->head.parks) count_waiting(from, true);
    if (reply.head.tasks == 0 && below.number != 0)
      add_wishes([&](std::uint64_t task) { return tasks_.is_below(task, below); }, false);
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
