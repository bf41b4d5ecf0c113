/* Each function of sms.h behaves as its comment says: cases whose processes check themselves. */
#include <pthread.h>
#include <signal.h>
#include <sms.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int arguments;
static char** words;

#define CHECK(condition)                                                                                 \
  do {                                                                                                   \
    if (!(condition)) {                                                                                  \
      fprintf(stderr, "%s:%d: process %d: not true: %s\n", __FILE__, __LINE__, sms_proc_id, #condition); \
      sms_error("a check of the test failed");                                                           \
    }                                                                                                    \
  } while (0)

static void numbers(void) {
  int* seen = sms_calloc(sms_nproc, sizeof *seen, 0);
  CHECK(sms_proc_id >= 0 && sms_proc_id < sms_nproc);
  seen[sms_proc_id] = getpid();
  sms_barrier(0);
  for (int i = 0; i < sms_nproc; ++i) {
    CHECK(seen[i] != 0);
    for (int j = 0; j < i; ++j) CHECK(seen[i] != seen[j]);
  }
}

/* Every process writes its elements and reads those of all; `round` makes them differ from the last round. */
static void share(unsigned char* bytes, size_t count, size_t item, int round) {
  for (size_t i = 0; i < count; ++i)
    if (i / item % (size_t)sms_nproc == (size_t)sms_proc_id) bytes[i] = (unsigned char)(i + (size_t)round);
  sms_barrier(round % sms_nproc);
  for (size_t i = 0; i < count; ++i) CHECK(bytes[i] == (unsigned char)(i + (size_t)round));
  sms_barrier(0);
}

static void memory(void) {
  enum { count = 60 };
  static unsigned char* all[count];
  static size_t sizes[count];
  for (int i = 0; i < count; ++i) {
    const int manager = i % sms_nproc;
    sizes[i] = (size_t)1 << i % 20;
    const int item = i % 3 == 0 && i % 20 >= 5 ? 1 << i % 5 : 1;
    all[i] = i % 3 == 0 ? sms_calloc((int)sizes[i] / item, item, manager) : sms_alloc((int)sizes[i], manager);
    CHECK((uintptr_t)all[i] % 64 == 0);
    for (int j = 0; j < i; ++j) CHECK(all[i] + sizes[i] <= all[j] || all[j] + sizes[j] <= all[i]);
    for (size_t at = 0; at < sizes[i]; ++at) CHECK(all[i][at] == 0);
    sms_barrier(0); /* before any process writes */
    share(all[i], sizes[i], (size_t)item, i);
  }
  for (int i = 0; i < count; ++i)
    for (size_t at = 0; at < sizes[i]; ++at) CHECK(all[i][at] == (unsigned char)(at + (size_t)i));
}

static void same_addresses(void) {
  void** first = sms_alloc(sizeof *first, 0);
  void* small = sms_alloc(100, sms_nproc - 1);
  void* large = sms_calloc(100000, 24, sms_nproc - 1);
  if (sms_proc_id == 0) first[0] = small;
  sms_barrier(0);
  CHECK(first[0] == small);
  sms_barrier(0);
  if (sms_proc_id == sms_nproc - 1) first[0] = large;
  sms_barrier(0);
  CHECK(first[0] == large);
}

/* More than fits an int. */
static void large(void) {
  const size_t bytes = (size_t)3 << 30, items = bytes / 8;
  unsigned char* one = sms_alloc_large(bytes, 0);
  double* other = sms_calloc_large(items, sizeof *other, sms_nproc - 1);
  if (sms_proc_id == 0) one[bytes - 1] = 7;
  if (sms_proc_id == sms_nproc - 1) other[items - 1] = 1.5;
  sms_change_page_manager_large(one, bytes, 0);
  sms_barrier(0);
  CHECK(one[bytes - 1] == 7 && one[0] == 0 && other[items - 1] == 1.5 && other[0] == 0);
}

/* Two processes change one word without synchronisation, and different bytes of another word. */
static void units(void) {
  int* bytes = sms_alloc(sizeof *bytes, 0);
  int* element = sms_calloc(1, sizeof *element, 0);
  int64_t* triple = sms_calloc(1, 3 * sizeof *triple, 0);
  CHECK(*bytes == 0 && *element == 0 && triple[1] == 0); /* fetches copies */
  sms_barrier(0);
  if (sms_proc_id < 2) {
    ((volatile char*)bytes)[sms_proc_id] = 1;
    *element = sms_proc_id == 0 ? 0x1 : 0x100;
    triple[1] = sms_proc_id == 0 ? 0x1 : INT64_C(0x100000000);
  }
  sms_barrier(0);
  if (sms_nproc == 1) return;
  CHECK(*bytes == 0x101);
  CHECK(*element == 0x1 || *element == 0x100);
  CHECK(triple[1] == 0x1 || triple[1] == INT64_C(0x100000000));
}

static void locks(void) {
  enum { turns = 100, count = 3 };
  static const int ids[count] = {0, 77, SMS_LOCK_COUNT - 1};
  long* sums = sms_calloc(count * 1000, sizeof *sums, 0);
  for (int turn = 0; turn < turns; ++turn) {
    for (int i = 0; i < count; ++i) {
      sms_lock(ids[i]);
      sums[i * 1000] += sms_proc_id + 1;
      sms_unlock(ids[i]);
    }
  }
  sms_barrier(0);
  for (int i = 0; i < count; ++i) CHECK(sums[i * 1000] == (long)turns * sms_nproc * (sms_nproc + 1) / 2);
  /* A lock inside of another, and both held over a barrier. */
  sms_lock(sms_proc_id);
  sms_lock(1000 + sms_proc_id);
  sms_barrier(0);
  sms_unlock(sms_proc_id);
  sms_unlock(1000 + sms_proc_id);
}

/* A process that uses a lock often in a row may keep it; the next process nevertheless sees its writes. */
static void rows(void) {
  enum { rounds = 25, uses = 40 };
  long* sum = sms_calloc(1, sizeof *sum, 0);
  for (int round = 0; round < rounds; ++round) {
    for (int use = 0; use < uses; ++use) {
      sms_lock(9);
      ++*sum;
      sms_unlock(9);
    }
    usleep(300 * (1 + (unsigned)sms_proc_id));
  }
  sms_barrier(0);
  CHECK(*sum == (long)rounds * uses * sms_nproc);
}

/* Writes of a process under a lock are seen by the next process that takes it, without a barrier. */
static void chain(void) {
  int* turn = sms_calloc(1, sizeof *turn, 0);
  int* data = sms_calloc(1024, sizeof *data, 0);
  const int condition = SMS_COND_COUNT - 1;
  for (int round = 0; round < 20; ++round) {
    sms_lock(5);
    while (*turn % sms_nproc != sms_proc_id) sms_cond_wait(condition, 5);
    for (int i = 0; i < 1024; ++i) {
      CHECK(data[i] == *turn);
      data[i] = *turn + 1;
    }
    ++*turn;
    sms_cond_broadcast(condition);
    sms_unlock(5);
  }
  sms_barrier(0);
  CHECK(*turn == 20 * sms_nproc);
}

/* As many signals as sleepers: each wakes one. Process 0 signals once all other processes sleep. */
static void signals(void) {
  struct state {
    int asleep, awake, tickets;
  }* state = sms_alloc(sizeof *state, 0);
  if (sms_proc_id != 0) {
    sms_lock(1);
    ++state->asleep;
    sms_cond_signal(1);
    while (state->tickets == 0) sms_cond_wait(0, 1);
    --state->tickets;
    ++state->awake;
    sms_unlock(1);
  } else {
    sms_lock(1);
    while (state->asleep != sms_nproc - 1) sms_cond_wait(1, 1);
    sms_unlock(1);
    for (int i = 1; i < sms_nproc; ++i) {
      sms_lock(1);
      ++state->tickets;
      sms_cond_signal(0);
      sms_unlock(1);
    }
  }
  sms_barrier(0);
  CHECK(state->awake == sms_nproc - 1 && state->tickets == 0);
}

enum { blocks = 32, block_bytes = 32768 };

/* The statistics show which process had the pages: see CMakeLists.txt. */
static void initial_manager(void) {
  char* pages = sms_alloc(blocks * block_bytes, atoi(words[2]));
  if (sms_proc_id == 1)
    for (int i = 0; i < blocks; ++i) pages[i * block_bytes] = 1;
  sms_barrier(0);
}
static void changed_manager(void) {
  char* pages = sms_alloc(blocks * block_bytes, 0);
  if (sms_proc_id == 0)
    for (int i = 0; i < blocks; ++i) pages[i * block_bytes] = (char)(i + 1);
  sms_barrier(0);
  if (atoi(words[2]) >= 0) sms_change_page_manager(pages + 10, blocks * block_bytes / 2 - 10, atoi(words[2]));
  sms_barrier(0);
  sms_barrier(0);
  for (int i = 0; i < blocks; ++i) CHECK(pages[i * block_bytes] == (char)(i + 1));
  sms_barrier(0);
}

static void own_arguments(void) {
  CHECK(sms_nproc == atoi(words[2]));
  CHECK(arguments == 5 && strcmp(words[3], "--") == 0 && strcmp(words[4], "a b") == 0);
  CHECK(words[5] == NULL);
}

static void death(void) {
  sms_barrier(0);
  if (sms_proc_id == sms_nproc - 1) raise(SIGKILL);
  sms_barrier(0);
}
static void unfinished(void) {
  exit(0);
}
static void own_error(void) {
  if (sms_proc_id == sms_nproc - 1) sms_error("this cannot go on");
  sms_barrier(0);
}

/* Deadlock: process 0 waits for a lock, its holder for a signal, and process 2 for both in a barrier. */
static void stall(void) {
  if (sms_proc_id == 1) {
    sms_lock(70);
    sms_lock(71);
  }
  sms_barrier(0);
  if (sms_proc_id == 0) sms_lock(70);
  if (sms_proc_id == 1) sms_cond_wait(7, 71);
  sms_barrier(0);
}

/* Process 0 is the last to leave sms_shutdown, as it has much to write there, and goes on when the other
 * processes have ended. */
static void late_output(void) {
  enum { bytes = 4 << 20 };
  setvbuf(stdout, NULL, _IOFBF, bytes);
  for (int i = 0; sms_proc_id == 0 && i < bytes / 64; ++i)
    printf("a line of sixty-four bytes, which makes much to write for it..\n");
  sms_barrier(0);
  sms_shutdown();
  if (sms_proc_id != 0) exit(0);
  sleep(1);
  printf("%d processes, printed late\n", sms_nproc);
  exit(0);
}

static const struct {
  const char* name;
  void (*run)(void);
} cases[] = {{"numbers", numbers},
             {"memory", memory},
             {"same_addresses", same_addresses},
             {"large", large},
             {"units", units},
             {"locks", locks},
             {"rows", rows},
             {"chain", chain},
             {"signals", signals},
             {"initial_manager", initial_manager},
             {"changed_manager", changed_manager},
             {"own_arguments", own_arguments},
             {"death", death},
             {"unfinished", unfinished},
             {"own_error", own_error},
             {"stall", stall},
             {"late_output", late_output}};

int main(int argc, char** argv) {
  CHECK(sms_nproc == 0 && sms_proc_id == -1);
  sms_startup(argc, argv);
  arguments = argc;
  words = argv;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    if (argc < 2 || strcmp(argv[1], cases[i].name) != 0) continue;
    cases[i].run();
    const int processes = sms_nproc, self = sms_proc_id;
    sms_shutdown();
    if (sms_nproc != processes || sms_proc_id != self) return 98;
    return 0;
  }
  sms_error("no such case");
}
