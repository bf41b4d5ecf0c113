#include "fabric/tcp/connect_race.h"

#include <algorithm>
#include <utility>

namespace musubi::fabric::tcp {
namespace {

constexpr std::uint64_t head_start_ns = 250'000'000;  // before the next address starts
constexpr std::uint64_t rest_min_ns = 10'000'000, rest_max_ns = 500'000'000;

}  // namespace

void ConnectRace::begin(std::uint64_t now_ns, const Patience& patience) noexcept {
  patience_ = patience;
  is_on_ = true;
  next_ns_ = now_ns;
  gives_up_ns_ = now_ns + patience.all_ns;
}

// The first started lane of this stage; `lanes` if there is none.
unsigned ConnectRace::find(Stage stage) const noexcept {
  unsigned found = lanes;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    if (lanes_[lane].stage != stage) continue;
    if (found == lanes || lanes_[lane].attempt < lanes_[found].attempt) found = lane;
  }
  return found;
}

unsigned ConnectRace::under_way() const noexcept {
  return static_cast<unsigned>(
      std::ranges::count_if(lanes_, [](const Lane& each) { return each.stage != Stage::none; }));
}

bool ConnectRace::is_tried_out() const noexcept {
  return std::ranges::all_of(addresses_, [](const Address& each) { return each.tried >= attempts_min; });
}

// The first of the least tried addresses; `none` if all are under way.
std::size_t ConnectRace::next_address() const noexcept {
  std::size_t best = none;
  for (std::size_t i = 0; i < addresses_.size(); ++i) {
    if (addresses_[i].is_under_way) continue;
    if (best == none || addresses_[i].tried < addresses_[best].tried) best = i;
  }
  return best;
}

ConnectRace::Action ConnectRace::next(std::uint64_t now_ns, bool leads) noexcept {
  if (!is_on_) return end(lanes);
  for (unsigned lane = 0; lane < lanes; ++lane) {
    if (!is_overdue(lane, now_ns)) continue;
    failed(lane, no_answer, now_ns);
    return {Action::Kind::stop, lane, lanes_[lane].address};
  }
  if (const unsigned proved = find(Stage::proved); proved != lanes) return end(proved);
  if (now_ns >= gives_up_ns_ && is_tried_out()) {
    for (Address& each : addresses_) {
      if (each.reason == nullptr) each.reason = no_answer;
    }
    if (under_way() != 0) return end(lanes);
    is_on_ = false;
    return {Action::Kind::give_up};
  }
  const bool has_room = leads ? under_way() < lanes : under_way() == 0;
  if (preferred_ != none && !addresses_[preferred_].is_under_way) {
    if (std::exchange(makes_room_, false) || has_room) {
      return start(std::exchange(preferred_, none), now_ns);
    }
    if (const unsigned oldest = find(Stage::connecting); oldest != lanes) {
      makes_room_ = true;
      return stop(oldest);
    }
  }
  preferred_ = none;
  const std::size_t address = next_address();
  if (!has_room || now_ns < next_ns_ || address == none) return {};
  return start(address, now_ns);
}

// Relative to the plan, not to the clock; otherwise addresses would start later and later.
ConnectRace::Action ConnectRace::start(std::size_t address, std::uint64_t now_ns) noexcept {
  const unsigned lane = find(Stage::none);
  lanes_[lane] = {Stage::connecting, ++attempts_, address, now_ns + patience_.connect_ns};
  addresses_[address].is_under_way = true;
  ++addresses_[address].tried;
  next_ns_ = std::max(next_ns_ + head_start_ns, now_ns);
  return {Action::Kind::start, lane, address};
}

void ConnectRace::leave(unsigned lane) noexcept {
  addresses_[lanes_[lane].address].is_under_way = false;
  lanes_[lane].stage = Stage::none;
}

ConnectRace::Action ConnectRace::stop(unsigned lane) noexcept {
  leave(lane);
  return {Action::Kind::stop, lane, lanes_[lane].address};
}

// Stops all lanes under way except one.
ConnectRace::Action ConnectRace::end(unsigned but_for) noexcept {
  for (unsigned lane = 0; lane < lanes; ++lane) {
    if (lane != but_for && lanes_[lane].stage != Stage::none) return stop(lane);
  }
  return {};
}

void ConnectRace::connected(unsigned lane, std::uint64_t now_ns) noexcept {
  lanes_[lane].stage = Stage::greeted;
  lanes_[lane].ends_ns = now_ns + patience_.handshake_ns;
}

bool ConnectRace::answered(unsigned lane, std::uint64_t now_ns) noexcept {
  if (find(Stage::proved) != lanes) return false;
  lanes_[lane].stage = Stage::proved;
  lanes_[lane].ends_ns = now_ns + patience_.handshake_ns;
  return true;
}

void ConnectRace::welcomed(unsigned lane) noexcept {
  leave(lane);
  is_on_ = false;
}

// Retries at once while another address was tried less often; otherwise after a rest, which grows with each
// round.
void ConnectRace::failed(unsigned lane, const char* reason, std::uint64_t now_ns) noexcept {
  Address& address = addresses_[lanes_[lane].address];
  address.reason = reason;
  leave(lane);
  const std::size_t next = next_address();
  const bool others_wait = addresses_[next].tried < address.tried;
  const std::uint64_t rest = std::min(rest_max_ns, rest_min_ns << std::min(address.tried - 1, 6u));
  next_ns_ = others_wait ? now_ns : now_ns + rest;
}

void ConnectRace::prefer(std::size_t address) noexcept {
  if (is_on_) preferred_ = address;
}

}  // namespace musubi::fabric::tcp
