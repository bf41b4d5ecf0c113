// Two ranks and a stranger, their connections and the network between them, exhaustively in all orders for
// some steps, and in random orders for many: no rank waits for ever, none is lost while its connections in
// use work, and no stranger gets in. The state machines are the shipped ones (race.h, peer_life.h); the test
// adds a model of sockets. Injected faults show that each property can fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>

#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "fabric/sockets/peer_life.h"
#include "fabric/tcp/connect_race.h"

namespace musubi::fabric::tcp {
namespace {

enum class Fault : std::uint8_t {
  none,
  no_welcome,         // the connecting rank takes its proof for the end of the handshake
  no_numbers,         // attempts are ordered by the time when they are read
  heard_at_once,      // the end of a connection after the welcome is the end of the peer
  one_end_is_no_end,  // while the other connection stands
  no_deadline,        // for a peer that was welcomed and went away
  no_proof,           // is asked for
};

enum class Word : std::uint8_t { syn, hello, answer, proof, welcome, request, reply, end };

constexpr std::uint64_t second_ns = 1'000'000'000;
constexpr ConnectRace::Patience patience{second_ns, 2 * second_ns, 40 * second_ns};
constexpr PeerLife::Patience life_patience{second_ns, 40 * second_ns};
constexpr std::size_t addresses = 2, dead_address = 0;
constexpr std::size_t guests_max = 2;
constexpr int nowhere = -1;

struct Connection {
  unsigned asker = 0;  // the connecting rank; 2: the stranger
  std::uint32_t attempt = 0;
  bool is_closed[2]{};         // by its end: 0 that of the asker, 1 of the other rank
  std::deque<Word> coming[2];  // words in flight to that end
};

struct Side {
  PeerLife life;
  ConnectRace race{addresses};
  std::array<int, ConnectRace::lanes> lanes{};
  int asking = nowhere, answering = nowhere;  // connections
  struct Guest {
    int connection;
    bool answered;
  };
  std::vector<Guest> guests;
  std::uint32_t proofs = 0;
  bool wants = false, waits = false, is_dead = false;
  std::string lost;  // the reason
};

class World {
 public:
  explicit World(Fault fault) : fault_(fault) {}

  // The number of events possible now; happen() makes one of them happen. The first are arrivals.
  std::size_t arrivals() const { return deliverable().size(); }
  std::size_t choices() const {
    return deliverable().size() + resettable().size() + (budget_.asks != 0 ? 2 : 0) +
           (budget_.lateness != 0) + (budget_.strangers != 0) + (budget_.deaths != 0);
  }
  void happen(std::size_t choice) {
    const auto pick = [&](std::size_t count) {
      if (choice < count) return true;
      choice -= count;
      return false;
    };
    if (const auto all = deliverable(); pick(all.size())) {
      deliver(all[choice].first, all[choice].second);
    } else if (const auto open = resettable(); pick(open.size())) {
      reset(open[choice]);
    } else if (pick(budget_.asks != 0 ? 2 : 0)) {
      ask(static_cast<unsigned>(choice));
    } else if (pick(budget_.lateness != 0)) {
      --budget_.lateness;
      pass_time();
    } else if (pick(budget_.strangers != 0)) {
      --budget_.strangers;
      knock();
    } else if (budget_.deaths != 0) {
      --budget_.deaths;
      die(1);
    }
    carry_on();
  }
  // From now on everything arrives.
  void settle() {
    for (unsigned step = 0; step < 1000; ++step) {
      if (const auto all = deliverable(); !all.empty()) {
        deliver(all[0].first, all[0].second);
      } else if (!pass_time()) {
        return;
      }
      carry_on();
    }
  }
  // Result: the violated property after the end; empty: none.
  std::string objection() const {
    if (stranger_is_in_) return "a stranger is in";
    if (!false_death_.empty()) return "false death: " + false_death_;
    const bool any_lost = !sides_[0].lost.empty() || !sides_[1].lost.empty();
    for (const Side& side : sides_) {
      if (side.is_dead || any_lost) continue;
      if (side.waits || side.race.is_on()) return "hangs: waits for a reply";
      if (side.life.answering() == PeerLife::Line::awaited) return "hangs: waits for the peer to come back";
    }
    return {};
  }

 private:
  struct Budget {
    unsigned asks = 4, resets = 2, lateness = 8, strangers = 2, deaths = 1;
  };

  std::vector<std::pair<std::size_t, unsigned>> deliverable() const {
    std::vector<std::pair<std::size_t, unsigned>> all;
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      for (const unsigned end : {0u, 1u}) {
        if (!connections_[i].coming[end].empty()) all.emplace_back(i, end);
      }
    }
    return all;
  }
  std::vector<std::size_t> resettable() const {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; budget_.resets != 0 && i < connections_.size(); ++i) {
      if (connections_[i].asker != 2 && !connections_[i].is_closed[0] && !connections_[i].is_closed[1]) {
        all.push_back(i);
      }
    }
    return all;
  }
  unsigned rank_of(std::size_t index, unsigned end) const {
    const unsigned asker = connections_[index].asker;
    return end == 0 ? asker : asker == 2 ? 0 : 1 - asker;
  }
  bool is_used(std::size_t index) const {
    const unsigned asker = connections_[index].asker;
    return asker != 2 && sides_[asker].asking == static_cast<int>(index);
  }

  void ask(unsigned rank) {
    Side& side = sides_[rank];
    if (side.is_dead || side.life.is_lost() || side.waits) return;
    --budget_.asks;
    side.waits = true;
    if (side.asking != nowhere) return say(static_cast<std::size_t>(side.asking), 0, Word::request);
    if (!std::exchange(side.wants, true)) side.race.begin(now_ns_, patience);
  }
  void knock() {
    Connection& made = connections_.emplace_back();
    made.asker = 2;
    made.coming[1] = {Word::syn, Word::hello, Word::proof};
  }
  void say(std::size_t index, unsigned end, Word word) {
    Connection& connection = connections_[index];
    if (connection.is_closed[1 - end] || connection.is_closed[end]) return;
    connection.coming[1 - end].push_back(word);
  }
  void close(std::size_t index, unsigned end) {
    say(index, end, Word::end);
    connections_[index].is_closed[end] = true;
    connections_[index].coming[end].clear();
  }
  void reset(std::size_t index) {
    --budget_.resets;
    Connection& connection = connections_[index];
    if (is_used(index)) may_lose_ = true;
    for (const unsigned end : {0u, 1u}) {
      if (!connection.is_closed[end]) connection.coming[end] = {Word::end};
    }
  }
  void die(unsigned rank) {
    Side& side = sides_[rank];
    side.is_dead = may_lose_ = true;
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      for (const unsigned end : {0u, 1u}) {
        if (rank_of(i, end) == rank && !connections_[i].is_closed[end]) close(i, end);
      }
    }
  }
  // Advances to the next moment for which a rank waits. Result: whether there is one.
  bool pass_time() {
    const bool any = std::ranges::any_of(sides_, [](const Side& each) {
      return !each.is_dead && !each.life.is_lost() && (each.race.is_on() || each.life.has_deadline());
    });
    if (any) now_ns_ += second_ns;
    return any;
  }

  void lose(unsigned rank, const char* why) {
    Side& side = sides_[rank];
    side.lost = why;
    side.life.lose();
    if (!may_lose_ && false_death_.empty()) false_death_ = why;
    may_lose_ = true;  // now the other rank may lose this one
    for (const auto& [index, end] : {std::pair(side.asking, 0u), std::pair(side.answering, 1u)}) {
      if (index != nowhere) close(static_cast<std::size_t>(index), end);
    }
  }
  void carry_on() {
    for (const unsigned rank : {0u, 1u}) {
      Side& side = sides_[rank];
      if (side.is_dead) continue;
      if (side.life.is_over(fault_ == Fault::no_deadline ? 0 : now_ns_) != PeerLife::Over::no)
        lose(rank, "over");
      for (ConnectRace::Action action;
           (action = side.race.next(now_ns_, true)).kind != ConnectRace::Action::Kind::none;) {
        if (action.kind == ConnectRace::Action::Kind::give_up) {
          lose(rank, "unreachable");
        } else if (action.kind == ConnectRace::Action::Kind::stop) {
          close(static_cast<std::size_t>(side.lanes[action.lane]), 0);
        } else {
          side.lanes[action.lane] = static_cast<int>(connections_.size());
          Connection& made = connections_.emplace_back();
          made.asker = rank;
          made.attempt = side.race.attempt(action.lane);
          if (action.address != dead_address) made.coming[1] = {Word::syn};
        }
      }
    }
  }

  void deliver(std::size_t index, unsigned end) {
    const Word word = connections_[index].coming[end].front();
    connections_[index].coming[end].pop_front();
    const unsigned rank = rank_of(index, end);
    if (rank == 2 || sides_[rank].is_dead) return;
    Side& side = sides_[rank];
    if (end == 0) return tell_asker(rank, index, word);
    if (side.answering == static_cast<int>(index)) return tell_answering(rank, index, word);
    tell_guest(rank, index, word);
  }

  void tell_asker(unsigned rank, std::size_t index, Word word) {
    Side& side = sides_[rank];
    if (side.asking == static_cast<int>(index)) {
      if (word == Word::reply) side.waits = false;
      if (word == Word::end) ended(rank, index, true);
      return;
    }
    const auto lane =
        static_cast<unsigned>(std::ranges::find(side.lanes, static_cast<int>(index)) - side.lanes.begin());
    if (lane == ConnectRace::lanes || side.race.stage(lane) == ConnectRace::Stage::none) return;
    if (word == Word::end) {
      close(index, 0);
      side.race.failed(lane, "ended", now_ns_);
    } else if (word == Word::syn) {
      side.race.connected(lane, now_ns_);
      say(index, 0, Word::hello);
    } else if (word == Word::answer && side.race.answered(lane, now_ns_)) {
      say(index, 0, Word::proof);
      if (fault_ == Fault::no_welcome) joined(rank, index, lane);
    } else if (word == Word::welcome) {
      joined(rank, index, lane);
    }
  }
  void joined(unsigned rank, std::size_t index, unsigned lane) {
    Side& side = sides_[rank];
    side.race.welcomed(lane);
    side.lanes[lane] = nowhere;
    if (side.life.welcomed() != PeerLife::Verdict::welcome) return close(index, 0);
    side.asking = static_cast<int>(index);
    say(index, 0, Word::request);
  }

  void tell_answering(unsigned rank, std::size_t index, Word word) {
    if (word == Word::end) return ended(rank, index, false);
    sides_[rank].life.heard();
    say(index, 1, Word::reply);
  }
  void tell_guest(unsigned rank, std::size_t index, Word word) {
    Side& side = sides_[rank];
    const auto guest = std::ranges::find(side.guests, static_cast<int>(index), &Side::Guest::connection);
    if (word == Word::syn) {
      if (side.guests.size() == guests_max) {
        close(static_cast<std::size_t>(side.guests[0].connection), 1);
        side.guests.erase(side.guests.begin());
      }
      side.guests.push_back({static_cast<int>(index), false});
      say(index, 1, Word::syn);
    } else if (guest == side.guests.end()) {
      return;
    } else if (word == Word::hello) {
      guest->answered = true;
      say(index, 1, Word::answer);
    } else {
      side.guests.erase(guest);
      const bool is_right = connections_[index].asker != 2 || fault_ == Fault::no_proof;
      word == Word::proof&& is_right ? take(rank, index) : close(index, 1);
    }
  }
  void take(unsigned rank, std::size_t index) {
    Side& side = sides_[rank];
    stranger_is_in_ = stranger_is_in_ || connections_[index].asker == 2;
    const std::uint32_t attempt = fault_ == Fault::no_numbers ? ++side.proofs : connections_[index].attempt;
    const PeerLife::Verdict verdict = side.life.proved(attempt);
    if (verdict == PeerLife::Verdict::stale || verdict == PeerLife::Verdict::second) return close(index, 1);
    if (verdict == PeerLife::Verdict::replaces) close(static_cast<std::size_t>(side.answering), 1);
    side.answering = static_cast<int>(index);
    if (fault_ == Fault::heard_at_once) side.life.heard();
    say(index, 1, Word::welcome);
  }
  void ended(unsigned rank, std::size_t index, bool asking) {
    Side& side = sides_[rank];
    if (side.life.is_lost()) return;
    close(index, asking ? 0 : 1);
    const bool other_stands = asking ? side.answering != nowhere : side.asking != nowhere;
    if (fault_ == Fault::one_end_is_no_end && other_stands) return;
    const PeerLife::End end = side.life.ended(asking, false, now_ns_, life_patience);
    (asking ? side.asking : side.answering) = nowhere;
    if (end == PeerLife::End::peer) lose(rank, asking ? "its answers ended" : "its requests ended");
  }

  const Fault fault_;
  std::uint64_t now_ns_ = second_ns;
  Budget budget_;
  Side sides_[2];
  std::vector<Connection> connections_;
  bool may_lose_ = false, stranger_is_in_ = false;
  std::string false_death_;
};

std::string in_all_orders(const World& world, unsigned steps) {
  if (steps == 0) {
    World end = world;
    end.settle();
    return end.objection();
  }
  for (std::size_t choice = 0; choice < world.choices(); ++choice) {
    World next = world;
    next.happen(choice);
    if (const std::string wrong = in_all_orders(next, steps - 1); !wrong.empty()) {
      return wrong + " <- " + std::to_string(choice);
    }
  }
  return {};
}

std::string in_random_order(Fault fault, std::uint64_t seed) {
  Random random(seed);
  World world(fault);
  for (std::uint64_t steps = 5 + random.below(100); steps != 0 && world.choices() != 0; --steps) {
    const std::uint64_t kind = random.below(4);
    const bool arrives = kind < 2 && world.arrivals() != 0;
    const bool is_newest = arrives && kind == 0;  // overtakes words that were sent before it
    world.happen(is_newest ? world.arrivals() - 1
                           : random.below(arrives ? world.arrivals() : world.choices()));
  }
  world.settle();
  return world.objection();
}

std::string in_random_orders(Fault fault, unsigned stories) {
  for (unsigned i = 0; i < stories; ++i) {
    const std::string wrong = in_random_order(fault, i);
    if (!wrong.empty()) return wrong + ", seed " + std::to_string(i);
  }
  return {};
}

TEST(ConnectionLife, HoldsInAllOrdersOfTheFirstSteps) {
  EXPECT_EQ(in_all_orders(World(Fault::none), 6), "");
}

TEST(ConnectionLife, HoldsInRandomOrders) {
  EXPECT_EQ(in_random_orders(Fault::none, 30000), "");
}

TEST(ConnectionLife, EachPropertyFailsWithAFault) {
  const auto fails = [](Fault fault, const char* property) {
    const std::string wrong = in_random_orders(fault, 30000);
    EXPECT_EQ(wrong.rfind(property, 0), 0u) << static_cast<int>(fault) << ": " << wrong;
  };
  fails(Fault::no_welcome, "false death");
  fails(Fault::no_numbers, "false death");
  fails(Fault::heard_at_once, "false death");
  fails(Fault::one_end_is_no_end, "hangs");
  fails(Fault::no_deadline, "hangs");
  fails(Fault::no_proof, "a stranger is in");
}

}  // namespace
}  // namespace musubi::fabric::tcp
