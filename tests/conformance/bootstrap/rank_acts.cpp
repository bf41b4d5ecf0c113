#include "rank_acts.h"

#include <unistd.h>

#include "base/random.h"

namespace musubi::bootstrap {
namespace {

std::size_t number(const RankSurroundings& rank, std::size_t index) {
  return std::stoul(rank.arguments.at(index));
}

bool is_chosen(const RankSurroundings& rank) {
  return rank.job.self().value == number(rank, 1);
}

// Some ranks contribute nothing, other ranks more and more.
std::string blob_of(std::uint32_t rank, std::size_t round, std::size_t bytes) {
  return std::string(rank % 3 == 1 ? 0 : bytes / (rank + 1) + round,
                     static_cast<char>('a' + (rank + round) % 26));
}

bool exchange_is_right(Bootstrap& job, std::size_t round, std::size_t bytes) {
  auto blobs = job.all_gather(blob_of(job.self().value, round, bytes));
  if (!blobs.ok() || blobs.value().size() != job.ranks()) return false;
  for (std::uint32_t rank = 0; rank < job.ranks(); ++rank) {
    if (blobs.value()[rank] != blob_of(rank, round, bytes)) return false;
  }
  return true;
}

// Never returns while one rank stays away: the job ends first.
void wait_in_exchange(const RankSurroundings& rank) {
  (void)rank.job.all_gather("waits");
  rank.job.abort(wrong_end, "an exchange has ended without all ranks");
}

// place: rank and size, as all see them.
int act_place(const RankSurroundings& rank) {
  auto numbers = rank.job.all_gather(std::to_string(rank.job.self().value));
  if (!numbers.ok() || numbers.value().size() != rank.job.ranks()) return wrong_place;
  for (std::uint32_t other = 0; other < rank.job.ranks(); ++other) {
    if (numbers.value()[other] != std::to_string(other)) return wrong_place;
  }
  return rank.job.ranks() == number(rank, 1) ? 0 : wrong_place;
}

// hosts <text>: the hosts of the ranks, by rank, as one digit each.
int act_hosts(const RankSurroundings& rank) {
  const Hosts& hosts = rank.job.hosts();
  std::string text;
  for (std::uint32_t other = 0; other < rank.job.ranks(); ++other) {
    text += std::to_string(hosts.of(Rank(other)).value);
  }
  return hosts.ranks() == rank.job.ranks() && text == rank.arguments[1] ? 0 : wrong_hosts;
}

// secret: every rank has the same.
int act_secret(const RankSurroundings& rank) {
  auto secrets = rank.job.all_gather(rank.job.secret());
  if (!secrets.ok()) return wrong_blobs;
  for (const std::string& secret : secrets.value()) {
    if (secret != rank.job.secret()) return wrong_secret;
  }
  return 0;
}

// gather <rounds> <bytes>: ranks come to the exchanges at different times.
int act_gather(const RankSurroundings& rank) {
  Random random(rank.job.self().value);
  for (std::size_t round = 0; round < number(rank, 1); ++round) {
    if (random.below(8) == 0) ::usleep(static_cast<useconds_t>(random.below(300)));
    if (!exchange_is_right(rank.job, round, number(rank, 2))) return wrong_blobs;
  }
  return 0;
}

// largest: exchanges the largest size that fits, from every rank; one byte more is refused, and the job goes
// on.
int act_largest(const RankSurroundings& rank) {
  auto blobs = rank.job.all_gather(std::string(blob_bytes_max, 'x'));
  if (!blobs.ok()) return wrong_blobs;
  for (const std::string& blob : blobs.value()) {
    if (blob.size() != blob_bytes_max) return wrong_blobs;
  }
  if (rank.job.all_gather(std::string(blob_bytes_max + 1, 'x')).ok()) return wrong_error;
  return exchange_is_right(rank.job, 3, 100) ? 0 : wrong_blobs;
}

// lines <count> <bytes>: of one letter each, in pieces.
int act_lines(const RankSurroundings& rank) {
  const std::string half(number(rank, 2) / 2, static_cast<char>('a' + rank.job.self().value));
  if (!exchange_is_right(rank.job, 0, 10)) return wrong_blobs;
  for (std::size_t i = 0; i < number(rank, 1); ++i) {
    rank.print(half);
    rank.print(half + "\n");
  }
  return exchange_is_right(rank.job, 1, 10) ? 0 : wrong_blobs;
}

// finish | abort | die | leave <rank>: one rank does so, after an exchange, while the other ranks are in the
// next one.
void act_end(const RankSurroundings& rank) {
  if (!exchange_is_right(rank.job, 0, 10)) rank.job.abort(wrong_blobs, "wrong blobs");
  if (!is_chosen(rank)) return wait_in_exchange(rank);
  const std::string& how = rank.arguments[0];
  ::usleep(20'000);  // the other ranks have arrived
  if (how == "finish") rank.job.finish(42);
  if (how == "abort") rank.job.abort(77, "block 17 is lost");
  if (how == "die") rank.die();
}

// first_finish: all ranks finish; the first one counts, and the ends of the other ranks are no failure.
void act_first_finish(const RankSurroundings& rank) {
  rank.job.finish(5);
  rank.job.finish(6);
}

}  // namespace

void act(const RankSurroundings& rank) {
  struct Act {
    const char* name;
    int (*run)(const RankSurroundings&);
  };
  constexpr Act acts[] = {{"place", act_place},   {"hosts", act_hosts},     {"secret", act_secret},
                          {"gather", act_gather}, {"largest", act_largest}, {"lines", act_lines}};
  const std::string& name = rank.arguments.at(0);
  for (const Act& candidate : acts) {
    if (name != candidate.name) continue;
    if (const int wrong = candidate.run(rank)) rank.job.abort(wrong, "act " + name);
    // No rank ends before every rank has seen that the result is right.
    (void)rank.job.all_gather("right");
    return rank.job.finish(0);
  }
  if (name == "first_finish") return act_first_finish(rank);
  if (name == "finish" || name == "abort" || name == "die" || name == "leave") return act_end(rank);
  rank.job.abort(no_act, "no such act");
}

}  // namespace musubi::bootstrap
