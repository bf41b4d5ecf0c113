// Attributes that threads of a team inherit from the thread that opens the region, as by pthread_create: each
// attribute in turn, then all, with threads that are new again after a smaller team.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/mempolicy.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <xmmintrin.h>

#define CHECK(condition)                                                \
  do {                                                                  \
    if (!(condition)) {                                                 \
      fprintf(stderr, "line %d: not true: %s\n", __LINE__, #condition); \
      exit(1);                                                          \
    }                                                                   \
  } while (0)

enum { io_of_thread = 1, io_best_effort = 2 << 13 };

static long mask_of_signals(void) {
  sigset_t now;
  long bits;
  CHECK(pthread_sigmask(SIG_BLOCK, NULL, &now) == 0);
  memcpy(&bits, &now, sizeof bits);
  return bits;
}
static void block_signals(void) {
  sigset_t some;
  sigemptyset(&some);
  sigaddset(&some, SIGUSR2);
  sigaddset(&some, SIGRTMIN + 3);
  CHECK(pthread_sigmask(SIG_BLOCK, &some, NULL) == 0);
}

static long first_processors(void) {
  cpu_set_t now;
  long bits;
  CHECK(sched_getaffinity(0, sizeof now, &now) == 0);
  memcpy(&bits, &now, sizeof bits);
  return bits;
}
static void choose_processor(void) {
  cpu_set_t now, one;
  CHECK(sched_getaffinity(0, sizeof now, &now) == 0);
  CPU_ZERO(&one);
  for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i) {
    if (CPU_ISSET(i, &now)) CPU_SET(i, &one);
  }
  CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
}

static long policy(void) {
  return sched_getscheduler(0);
}
static void choose_policy(void) {
  const struct sched_param none = {0};
  CHECK(sched_setscheduler(0, SCHED_BATCH, &none) == 0);
}

static long niceness(void) {
  return getpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid));
}
static void be_nice(void) {
  CHECK(setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 5) == 0);
}

static long timer_slack(void) {
  return prctl(PR_GET_TIMERSLACK);
}
static void choose_timer_slack(void) {
  CHECK(prctl(PR_SET_TIMERSLACK, 70000) == 0);
}

static long io_priority(void) {
  return syscall(SYS_ioprio_get, io_of_thread, 0);
}
static void choose_io_priority(void) {
  CHECK(syscall(SYS_ioprio_set, io_of_thread, 0, io_best_effort | 6) == 0);
}

static long memory_policy(void) {
  int mode = 0;
  return syscall(SYS_get_mempolicy, &mode, NULL, 0, NULL, 0) == 0 ? mode : -errno;
}
static void choose_memory_policy(void) {
  const unsigned long node = 1;
  (void)!syscall(SYS_set_mempolicy, MPOL_PREFERRED, &node, 8 * sizeof node);  // if the kernel has it
}

static long name(void) {
  char text[16] = {0};
  long bits;
  CHECK(prctl(PR_GET_NAME, text) == 0);
  memcpy(&bits, text, sizeof bits);
  return bits;
}
static void choose_name(void) {
  CHECK(prctl(PR_SET_NAME, "inherited") == 0);
}

static long vector_modes(void) {
  return _mm_getcsr() & ~0x3fu;
}
static void choose_vector_modes(void) {
  _mm_setcsr(_mm_getcsr() | _MM_FLUSH_ZERO_ON | _MM_ROUND_UP);
}

static long x87_modes(void) {
  unsigned short word;
  __asm__ volatile("fnstcw %0" : "=m"(word));
  return word;
}
static void choose_x87_modes(void) {
  const unsigned short word = (unsigned short)((x87_modes() & ~0x300) | 0x200);
  __asm__ volatile("fldcw %0" : : "m"(word));
}

static const struct {
  const char* name;
  long (*of_thread)(void);
  void (*change)(void);
} attributes[] = {
    {"blocked signals", mask_of_signals, block_signals},
    {"processors", first_processors, choose_processor},
    {"policy", policy, choose_policy},
    {"nice", niceness, be_nice},
    {"timer slack", timer_slack, choose_timer_slack},
    {"I/O priority", io_priority, choose_io_priority},
    {"memory policy", memory_policy, choose_memory_policy},
    {"name", name, choose_name},
    {"vector modes", vector_modes, choose_vector_modes},
    {"x87 modes", x87_modes, choose_x87_modes},
};
enum { attribute_count = sizeof attributes / sizeof *attributes };

static void* look(void* given) {
  long* const found = given;
  for (int i = 0; i < attribute_count; ++i) found[i] = attributes[i].of_thread();
  return NULL;
}

// All threads, and those that they create.
static void expect_of_team(const char* when) {
  long own[attribute_count];
  look(own);
  int wrong = 0;
#pragma omp parallel reduction(+ : wrong)
  {
    long found[2][attribute_count];
    pthread_t thread;
    look(found[0]);
    CHECK(pthread_create(&thread, NULL, look, found[1]) == 0 && pthread_join(thread, NULL) == 0);
    for (int made = 0; made < 2; ++made) {
      for (int i = 0; i < attribute_count; ++i) {
        if (found[made][i] == own[i]) continue;
        ++wrong;
        fprintf(stderr, "%s, %s%s: %ld instead of %ld at thread %d\n", when, attributes[i].name,
                made ? " of a thread made there" : "", found[made][i], own[i], omp_get_thread_num());
      }
    }
  }
  CHECK(wrong == 0);
}

// The team's threads end.
static void use_a_smaller_team(void) {
#pragma omp parallel num_threads(1)
  CHECK(omp_get_num_threads() == 1);
  int threads = 0;
#pragma omp parallel num_threads(2) reduction(+ : threads)
  threads += 1;
  CHECK(threads <= 2);
}

int main(int argc, char** argv) {
  // Before the first team the named attribute, or all at once.
  const char* const only = argc > 1 ? argv[1] : "";
  for (int i = 0; i < attribute_count; ++i) {
    if (*only == 0 || strcmp(only, attributes[i].name) == 0) attributes[i].change();
  }
  expect_of_team("first team");
  if (omp_get_max_threads() > 2) {
    use_a_smaller_team();
    // The first two threads go on as they are.
    long before[attribute_count];
    look(before);
    prctl(PR_SET_NAME, "later");
    int wrong = 0;
#pragma omp parallel reduction(+ : wrong)
    if (omp_get_thread_num() >= 2) {
      char text[16];
      wrong += prctl(PR_GET_NAME, text) != 0 || strcmp(text, "later") != 0;
    }
    CHECK(wrong == 0);
  }
  printf("inherited: passed\n");
  return 0;
}
