// Two threads take turns, which each learns only by holding a lock and looking. The thread whose turn it is
// not uses the lock again and again: the other one must get it soon, wherever it runs.
#include <pthread.h>
#include <string.h>

#include "check.h"

enum { rounds = 100 };

static union {
  pthread_spinlock_t spin;
  pthread_mutex_t mutex;
  pthread_rwlock_t shared;
} lock;

static void take_spin(void) {
  CHECK(pthread_spin_lock(&lock.spin) == 0);
}
static void give_spin(void) {
  CHECK(pthread_spin_unlock(&lock.spin) == 0);
}
static void take_mutex(void) {
  CHECK(pthread_mutex_lock(&lock.mutex) == 0);
}
static void give_mutex(void) {
  CHECK(pthread_mutex_unlock(&lock.mutex) == 0);
}
static void take_to_read(void) {
  CHECK(pthread_rwlock_rdlock(&lock.shared) == 0);
}
static void take_to_write(void) {
  CHECK(pthread_rwlock_wrlock(&lock.shared) == 0);
}
static void give_shared(void) {
  CHECK(pthread_rwlock_unlock(&lock.shared) == 0);
}

static const struct Kind {
  const char* name;
  void (*take)(void);  // to look, and to take the turn unless the next is given
  void (*take_turn)(void);
  void (*give)(void);
} kinds[] = {
    {"spin", take_spin, NULL, give_spin},
    {"mutex", take_mutex, NULL, give_mutex},
    {"write", take_to_write, NULL, give_shared},
    {"read", take_to_read, take_to_write, give_shared},
};
static const struct Kind* kind;
static int turn, taken[2];

static void* play(void* given) {
  const int mine = (int)(long)given;
  for (int round = 0; round < rounds; ++round) {
    for (int found = 0; !found;) {
      kind->take();
      found = turn == mine;
      if (found && kind->take_turn != NULL) {
        kind->give();
        kind->take_turn();
      }
      if (found) {
        CHECK(turn == mine && taken[0] == round + mine && taken[1] == round);
        ++taken[mine];
        turn = !mine;
      }
      kind->give();
    }
  }
  return NULL;
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
    if (strcmp(argv[1], kinds[i].name) == 0) kind = &kinds[i];
  }
  CHECK(kind != NULL);
  if (kind->give == give_spin) CHECK(pthread_spin_init(&lock.spin, PTHREAD_PROCESS_PRIVATE) == 0);
  pthread_t team[2];
  for (long i = 0; i < 2; ++i) CHECK(pthread_create(&team[i], NULL, play, (void*)i) == 0);
  for (int i = 0; i < 2; ++i) CHECK(pthread_join(team[i], NULL) == 0);
  CHECK(taken[0] == rounds && taken[1] == rounds);
  printf("turns: passed\n");
  return 0;
}
