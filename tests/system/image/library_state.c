// State that the C library keeps between calls, and variables that it shares with the program, exist once in
// the job.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <error.h>
#include <math.h>
#include <netdb.h>
#include <omp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { draws = 50 };

static int is_last(void) {
  return omp_get_thread_num() == omp_get_num_threads() - 1;
}

// All threads together take the first numbers of the sequence, each number once.
static void check_random(void) {
  long expected = 0, sum = 0;
  const int threads = omp_get_max_threads();
  srand(17);
  for (int i = 0; i < draws * threads; ++i) expected += rand();
  const int after = rand();
  srand(17);
#pragma omp parallel reduction(+ : sum)
  for (int i = 0; i < draws; ++i) sum += rand();
  CHECK(sum == expected && rand() == after);
  srandom(5);
  const long first = random(), second = random();
#pragma omp parallel
  if (is_last()) srandom(5);
  CHECK(random() == first);
#pragma omp parallel
  if (is_last()) CHECK(random() == second);
  srand48(3);
  const double fraction = drand48();
  const long whole = mrand48();
#pragma omp parallel
  if (is_last()) {
    srand48(3);
    CHECK(drand48() == fraction);
  }
  CHECK(mrand48() == whole);
  static char state[64], other[64];
  CHECK(initstate(9, state, sizeof state) != NULL);
  const long of_state = random();
  CHECK(initstate(8, other, sizeof other) == state && setstate(state) == other);
  srandom(9);
#pragma omp parallel
  if (is_last()) CHECK(random() == of_state);
}

static void check_strtok(void) {
  static char text[] = "one two three four";
  CHECK(strcmp(strtok(text, " "), "one") == 0);
  for (int thread = 0; thread < 2; ++thread) {
#pragma omp parallel
    if (omp_get_thread_num() == (omp_get_num_threads() - 1) * thread) {
      CHECK(strcmp(strtok(NULL, " "), thread == 0 ? "two" : "three") == 0);
    }
  }
  CHECK(strcmp(strtok(NULL, " "), "four") == 0 && strtok(NULL, " ") == NULL);
}

static void print_nothing(void) {}

static void check_variables(int count, char** arguments) {
  int letter = 0, right = 0;
  char* value = NULL;
  opterr = 0;
  while ((letter = getopt(count, arguments, "a:b")) != -1) {
    if (letter != 'a') continue;
    value = optarg;
#pragma omp parallel reduction(+ : right)
    right += optarg == value && strcmp(optarg, "value") == 0 && opterr == 0;
  }
  CHECK(right == omp_get_max_threads() && value != NULL);
  right = 0;
  error_print_progname = print_nothing;
  error_one_per_line = 1;
  static char name[] = "another name";
  program_invocation_name = name;
  signgam = 0;
  (void)lgamma(-0.5);
#pragma omp parallel reduction(+ : right)
  right += strcmp(arguments[optind], "rest") == 0 && error_print_progname == print_nothing &&
           error_one_per_line == 1 && program_invocation_name == name && signgam == -1;
  CHECK(right == omp_get_max_threads());
}

static void check_environment(void) {
  static char one[] = "ASSIGNED=by hand";
  static char* assigned[] = {one, NULL};
  char** before = environ;
  CHECK(setenv("KEPT", "yes", 1) == 0);
  before = environ;
  environ = assigned;
  int right = 0;
#pragma omp parallel reduction(+ : right)
  right += getenv("ASSIGNED") != NULL && strcmp(getenv("ASSIGNED"), "by hand") == 0 && getenv("KEPT") == NULL;
  CHECK(right == omp_get_max_threads());
  environ = before;
  right = 0;
#pragma omp parallel reduction(+ : right)
  right += getenv("ASSIGNED") == NULL && getenv("KEPT") != NULL;
  CHECK(right == omp_get_max_threads());
}

static void check_zone(void) {
  CHECK(setenv("TZ", "EST5EDT", 1) == 0);
  const time_t moment = 1600000000;
  struct tm parts;
  tzset();
  CHECK(localtime_r(&moment, &parts) != NULL);
  int right = 0;
#pragma omp parallel reduction(+ : right)
  right += timezone == 5 * 3600 && daylight == 1 && strcmp(tzname[0], "EST") == 0;
  CHECK(right == omp_get_max_threads());
}

// Results in memory of the C library, one got by main, one by another thread.
static void check_results(void) {
  const time_t moment = 86400;
  const char* text = ctime(&moment);
  const struct tm* parts = gmtime(&moment);
  const struct passwd* root = getpwuid(0);
  const struct in_addr address = {htonl(INADDR_LOOPBACK)};
  const char* numbers = inet_ntoa(address);
  const struct protoent* protocol = getprotobyname("tcp");
  const struct hostent* host = gethostbyname("127.0.0.1");
  int right = 0;
#pragma omp parallel reduction(+ : right)
  right += parts->tm_mday == 2 && strcmp(root->pw_name, "root") == 0 && strstr(text, "1970") != NULL &&
           strcmp(numbers, "127.0.0.1") == 0 && (protocol == NULL || protocol->p_proto == 6) &&
           host->h_length == 4 && memcmp(host->h_addr_list[0], &address, 4) == 0;
  CHECK(right == omp_get_max_threads());
#pragma omp parallel
  if (is_last()) parts = localtime(&moment);
  CHECK(parts->tm_year == 70 && strstr(text, "19:00:00 1970") != NULL);
}

int main(int count, char** arguments) {
  check_random();
  check_strtok();
  check_variables(count, arguments);
  check_environment();
  check_zone();
  check_results();
  printf("library_state: passed\n");
  return 0;
}
