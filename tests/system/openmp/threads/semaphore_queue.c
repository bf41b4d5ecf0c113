// A ring between several writers and several readers, counted by semaphores; each reader adds up what it
// gets. Usage: semaphore_queue [writers and as many readers] [numbers of each].
#include <errno.h>
#include <semaphore.h>

#include "thread_team.h"

enum { room = 8 };

static sem_t free_places, filled_places, head_guard, tail_guard, done;
static long ring[room];
static unsigned head, tail;
static int each;
static long sums[team_max];

static void wait_for(sem_t* semaphore) {
  while (sem_wait(semaphore) != 0) CHECK(errno == EINTR);
}

static void put(long number) {
  wait_for(&free_places);
  wait_for(&tail_guard);
  ring[tail++ % room] = number;
  CHECK(sem_post(&tail_guard) == 0);
  CHECK(sem_post(&filled_places) == 0);
}

static long take(void) {
  wait_for(&filled_places);
  wait_for(&head_guard);
  const long number = ring[head++ % room];
  CHECK(sem_post(&head_guard) == 0);
  CHECK(sem_post(&free_places) == 0);
  return number;
}

// Even members write, odd ones read.
static void work(int me, int size) {
  (void)size;
  for (int i = 1; i <= each; ++i) {
    if (me % 2 == 0) {
      put((long)me * each + i);
    } else {
      sums[me] += take();
    }
  }
  CHECK(sem_post(&done) == 0);
}

int main(int argc, char** argv) {
  const int writers = number_of(argc, argv, 1, 2, team_max / 2);
  each = number_of(argc, argv, 2, 300, 1 << 24);
  CHECK(sem_init(&free_places, 0, room) == 0 && sem_init(&filled_places, 0, 0) == 0);
  CHECK(sem_init(&head_guard, 0, 1) == 0 && sem_init(&tail_guard, 0, 1) == 0 && sem_init(&done, 0, 0) == 0);
  const double start = seconds();
  run_team(2 * writers, work);
  const double time = seconds() - start;
  long sum = 0, expected = 0;
  for (int i = 0; i < 2 * writers; ++i) {
    sum += sums[i];
    for (int k = 1; k <= each && i % 2 == 0; ++k) expected += (long)i * each + k;
    CHECK(sem_trywait(&done) == 0);
  }
  CHECK(sem_trywait(&done) == -1 && errno == EAGAIN);
  CHECK(sum == expected && head == tail && head == (unsigned)(writers * each));
  printf("semaphore_queue: %d numbers, %d threads, time %.6f s\n", writers * each, 2 * writers, time);
  return 0;
}
