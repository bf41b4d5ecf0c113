// The assistant's part of Stealing: asks for tasks, and sends tasks to ranks that wait; meetings.
#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "task_stealing/stealing.h"

namespace musubi::task_stealing {

using trace::Counter;

namespace {

constexpr std::uint16_t tasks_wanted_max = 4;

}  // namespace

// Reports for the victim go with the question. Result: tasks that came.
Task<std::uint32_t> Stealing::ask(Rank victim, std::uint64_t below, bool parks) {
  ParcelWriter parcel;
  co_await add_reports(victim, parcel);
  parcel.head.stamp = order_.acquired(victim);
  parcel.head.wanted = tasks_wanted_;
  parcel.head.below = below;
  parcel.head.parks = parks;
  std::array<std::byte, message_bytes_max> answer;
  const Calls::Answer got = co_await calls_.ask(victim, parcel.bytes(), answer);
  const auto view = ParcelView::of(std::span<const std::byte>(answer).first(got.bytes));
  MUSUBI_CHECK(view, "rank %u: its answer to a question for tasks is damaged", victim.value);
  note_stamp(victim, view->head.stamp);
  const std::uint32_t tasks = view->head.tasks;
  if (below == 0) victims_.note(victim, view->head.load, tasks != 0);
  if (tasks == 0) {
    counters_.add(Counter::tasks_refused);
    co_return 0;
  }
  payoff_.note_steal(got.elapsed_ns, tasks);
  const bool is_near = std::find(place_.near.begin(), place_.near.end(), victim) != place_.near.end();
  counters_.add(is_near ? Counter::tasks_stolen_near : Counter::tasks_stolen_far, tasks);
  const bool right = co_await receive_tasks(victim, std::span<const std::byte>(answer).first(got.bytes));
  MUSUBI_CHECK(right, "rank %u: its answer names tasks that are not on their way", victim.value);
  co_return tasks;
}

// Leapfrogging: tasks that have left, or that these have made, for threads that wait for them; again after
// pauses that double, but not while this rank would send them back: the rank that has their data may run
// them. Each wish is asked for once in a turn, so that reports do not starve. Result: as turn().
Task<std::uint64_t> Stealing::ask_for_wishes(std::uint64_t now_ns) {
  constexpr std::uint64_t first_pause_ns = 200'000, longest_pause_ns = 10'000'000;
  std::vector<Wish> wishes;
  {
    const Held held(lock_);
    if (wishes_.empty()) co_return until_bell;
    const std::uint64_t next_ns = std::max(next_wish_ns_, payoff_.rest_until_ns());
    if (now_ns < next_ns) co_return next_ns - now_ns;
    wishes = wishes_;
    std::erase_if(wishes_, [](const Wish& wish) { return !wish.stays; });
  }
  bool any = false;
  for (const Wish& wish : wishes) {
    const std::optional<Rank> holder = absent_.holder(wish.number);
    if (holder) {
      const std::uint32_t tasks = co_await ask(*holder, wish.number, false);
      any = any || tasks != 0;
    } else {
      const Held held(lock_);
      std::erase_if(wishes_, [&](const Wish& other) { return other.number == wish.number; });
    }
  }
  wish_pause_ns_ = any ? first_pause_ns : std::clamp(wish_pause_ns_ * 2, first_pause_ns, longest_pause_ns);
  next_wish_ns_ = now_ns + wish_pause_ns_;
  co_return wish_pause_ns_;
}

Task<> Stealing::wait_at_neighbours() {
  for (std::uint32_t i = 0; i < victims_.neighbours(); ++i) {
    const std::uint32_t tasks = co_await ask(victims_.neighbour(i), 0, true);
    if (tasks != 0) co_return;
  }
  parked_.store(true);
}

// Result: as turn().
Task<std::uint64_t> Stealing::seek(std::uint64_t now_ns) {
  if (!tasks_.is_hungry()) {
    parked_.store(false);
    victims_.begin();
    co_return until_bell;
  }
  if (parked_.load()) co_return until_bell;
  if (pushed_.exchange(false)) {
    payoff_.note_push();
    rest_until_ns_ = now_ns + payoff_.pause_ns();
  }
  const std::uint64_t rest_until_ns = std::max(rest_until_ns_, payoff_.rest_until_ns());
  if (now_ns < rest_until_ns && !habits_.always) co_return rest_until_ns - now_ns;
  const std::optional<Rank> victim = victims_.next();
  if (!victim) {
    co_await wait_at_neighbours();
    victims_.begin();
    co_return parked_.load() ? until_bell : 0;
  }
  const std::uint32_t tasks = co_await ask(*victim, 0, false);
  if (tasks != 0) rest_until_ns_ = now_ns + payoff_.pause_ns();
  co_return tasks == 0 ? 0 : until_bell;
}

std::optional<Rank> Stealing::next_waiting() {
  const Held held(lock_);
  for (std::uint32_t rank = 0; rank < place_.ranks; ++rank) {
    if (peers_[rank].waits) return Rank{rank};
  }
  return std::nullopt;
}

Task<> Stealing::push() {
  if (hooks_.injected(InjectedBug::thief_asleep_with_work)) co_return;
  while (is_awaited() && tasks_.load() != 0) {
    const std::optional<Rank> to = next_waiting();
    if (!to) co_return;
    ParcelWriter parcel;
    co_await add_tasks(*to, (tasks_.load() + 1) / 2, {}, parcel);
    if (parcel.head.tasks == 0) co_return;  // taken by threads of this rank in the meantime
    count_waiting(*to, false);
    co_await send_tasks(*to, parcel);
  }
}

Task<> Stealing::send_tasks(Rank to, ParcelWriter& parcel) {
  parcel.head.stamp = order_.acquired(to);
  std::array<std::byte, message_bytes_max> answer;
  const Calls::Answer got = co_await calls_.ask(to, parcel.bytes(), answer);
  const auto view = ParcelView::of(std::span<const std::byte>(answer).first(got.bytes));
  MUSUBI_CHECK(view, "rank %u: its answer to tasks is damaged", to.value);
  note_stamp(to, view->head.stamp);
}

Task<> Stealing::send_back() {
  while (const std::optional<Rank> giver = tasks_.giver_of_ready()) {
    ParcelWriter parcel;
    co_await add_tasks(*giver, UINT32_MAX, {Choice::Kind::stolen_from, {*giver, 0, 0}}, parcel);
    if (parcel.head.tasks == 0) co_return;  // threads of this rank have taken them
    counters_.add(Counter::tasks_given_back, parcel.head.tasks);
    co_await send_tasks(*giver, parcel);
  }
}

// Where stolen work stalls, what has not started goes back to where its data are, and what the running tasks
// make follows, until this rank may steal again; at first one task at a time. Result: as turn().
Task<std::uint64_t> Stealing::look_at_work(std::uint64_t now_ns) {
  const std::uint32_t running = running_.load();
  const Payoff::Verdict verdict =
      payoff_.look(now_ns, habits_.look_ns, counters_.get(Counter::fault_ns), running);
  if (verdict == Payoff::Verdict::stalls) tasks_wanted_ = 1;
  if (verdict == Payoff::Verdict::pays && !sends_back_) tasks_wanted_ = tasks_wanted_max;
  const bool rests = now_ns < payoff_.rest_until_ns();
  if (std::exchange(sends_back_, rests) != rests) tasks_.leave_stolen_work(rests);
  if (!rests) co_return running == 0 ? until_bell : habits_.look_ns;
  co_await send_back();
  co_return running == 0 ? payoff_.rest_until_ns() - now_ns : habits_.look_ns;
}

Task<std::uint64_t> Stealing::turn(std::uint64_t now_ns) {
  co_await accept_early();
  const std::uint64_t wish_pause_ns = co_await ask_for_wishes(now_ns);
  const std::uint64_t look_pause_ns = co_await look_at_work(now_ns);
  const std::uint64_t seek_pause_ns = co_await seek(now_ns);
  const std::uint64_t pause_ns = std::min({wish_pause_ns, look_pause_ns, seek_pause_ns});
  co_await send_reports();
  co_await push();
  co_return pause_ns;
}

// ---- meetings ----

Task<> Stealing::send_step(Rank to, Step step, std::uint64_t meeting) {
  ParcelWriter parcel;
  parcel.head.step = step;
  parcel.head.meeting = meeting;
  parcel.head.stamp = order_.acquired(to);
  std::array<std::byte, message_bytes_max> answer;
  const Calls::Answer got = co_await calls_.ask(to, parcel.bytes(), answer);
  MUSUBI_CHECK(ParcelView::of(std::span<const std::byte>(answer).first(got.bytes)),
               "rank %u: its answer at a meeting is damaged", to.value);
}

// No rank waits for tasks any more.
void Stealing::begin_next_meeting() {
  while (const std::optional<Rank> peer = next_waiting()) count_waiting(*peer, false);
  parked_.store(false);
  tasks_.meeting_over();
}

Task<std::uint64_t> Stealing::come() {
  const std::uint64_t number = meeting_.number();
  const Meeting::Next next = meeting_.come();
  if (next == Meeting::Next::tell_parent) co_await send_step(meeting_.parent(), Step::done, number);
  if (next == Meeting::Next::over) begin_next_meeting();
  co_return number;
}

Task<> Stealing::pass_on(std::uint64_t meeting) {
  for (std::uint32_t i = 0; i < meeting_.children(); ++i)
    co_await send_step(meeting_.child(i), Step::go_on, meeting);
}

// Result: false if the step cannot be true.
Task<bool> Stealing::take_step(Rank from, const ParcelHead& head) {
  if (head.step == Step::go_on) {
    const bool is_parent = place_.self != Rank{0} && from == meeting_.parent();
    if (!is_parent || !meeting_.go_on(head.meeting)) co_return false;
    begin_next_meeting();
    co_return true;
  }
  const bool is_child = from.value > place_.self.value && Rank{(from.value - 1) / 2} == place_.self;
  bool refused = !is_child;
  Meeting::Next next = Meeting::Next::wait;
  if (is_child) next = meeting_.child_done(head.meeting, refused);
  if (next == Meeting::Next::tell_parent) {
    co_await send_step(meeting_.parent(), Step::done, head.meeting);
  } else if (next == Meeting::Next::over) {
    begin_next_meeting();
  }
  co_return !refused;
}

}  // namespace musubi::task_stealing
