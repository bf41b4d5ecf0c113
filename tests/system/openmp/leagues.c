// Leagues of teams on the host, with fewer and with more teams than ranks.
#include "check.h"

enum { many = 1000 };

static int visits[many], by_team[64];
static long sums[64];

// Directly in a teams region the compiler accepts few calls.
static void check_team(int team, int teams) {
  CHECK(omp_get_num_teams() == teams && team >= 0 && team < teams && omp_get_team_num() == team);
  CHECK(omp_get_level() == 0 && !omp_in_parallel() && omp_get_thread_num() == 0);
  CHECK(omp_get_num_threads() == 1 && omp_get_thread_limit() == 3);
}

static void check_sum(long sum, int threads) {
  CHECK(sum == threads * (threads + 1) / 2);
}

static void of_size(int teams) {
  memset(visits, 0, sizeof visits);
  memset(by_team, 0, sizeof by_team);
  memset(sums, 0, sizeof sums);
  long total = 0;
  int seen = 0;
#pragma omp teams num_teams(teams) thread_limit(3) reduction(+ : total, seen)
  {
    const int team = omp_get_team_num();
    check_team(team, teams);
    by_team[team] += 1;
    seen += 1;
#pragma omp distribute
    for (int i = 0; i < many; ++i) {
      visits[i] += 1;
      total += i;
    }
    long sum = 0;
    int threads = 0;
#pragma omp parallel num_threads(3) reduction(+ : sum)
    {
      CHECK(omp_get_level() == 1 && omp_get_team_num() == team && omp_get_num_threads() <= 3);
#pragma omp single
      threads = omp_get_num_threads();
      sum += omp_get_thread_num() + 1;
    }
    check_sum(sum, threads);
    sums[team] = sum;
#pragma omp distribute parallel for num_threads(2) schedule(dynamic)
    for (int i = 0; i < many; ++i) visits[i] += 1;
  }
  CHECK(seen == teams && total == many * (many - 1L) / 2);
  for (int i = 0; i < teams; ++i) CHECK(by_team[i] == 1 && sums[i] > 0);
  for (int i = 0; i < many; ++i) CHECK(visits[i] == 2);
  CHECK(omp_get_num_teams() == 1 && omp_get_team_num() == 0);
}

// Teams share the job's locks and critical sections.
static void in_common(void) {
  int by_critical = 0, by_atomic = 0;
#pragma omp teams num_teams(9) shared(by_critical, by_atomic)
#pragma omp parallel num_threads(2)
  for (int i = 0; i < 5; ++i) {
#pragma omp critical
    by_critical += 1;
#pragma omp atomic
    by_atomic += 1;
  }
  CHECK(by_critical == by_atomic && by_critical == 9 * 2 * 5);
}

int main(void) {
  for (int teams = 1; teams <= 9; ++teams) of_size(teams);
  of_size(64);
  in_common();
#pragma omp parallel
  CHECK(omp_get_num_teams() == 1);
  puts("leagues: right");
  return 0;
}
