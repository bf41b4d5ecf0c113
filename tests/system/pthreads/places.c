// Where threads run: `places <shares>`, as 1:1 or 2:2 for the ranks of the job, natively one number. A thread
// goes to the first rank with room in its share; when none has room, to the one with the fewest for its
// share.
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

#include "check.h"

enum { ranks_max = 8, threads_max = 64 };

static int processes[threads_max];
static sem_t has_begun, may_end;

static void* stay(void* given) {
  *(int*)given = process_of_thread();
  CHECK(sem_post(&has_begun) == 0 && sem_wait(&may_end) == 0);
  return given;
}

static void begin(pthread_t* thread, int* process) {
  CHECK(pthread_create(thread, NULL, stay, process) == 0 && sem_wait(&has_begun) == 0);
}

static int distinct(const int* begin, int count) {
  int found = 0;
  for (int i = 0; i < count; ++i) {
    int before = 0;
    for (int k = 0; k < i; ++k) before += begin[k] == begin[i];
    found += before == 0;
  }
  return found;
}

static int count_in(int process, int count) {
  int found = 0;
  for (int i = 0; i < count; ++i) found += processes[i] == process;
  return found;
}

int main(int argument_count, char** arguments) {
  int shares[ranks_max] = {0}, ranks = 0, all = 0;
  CHECK(argument_count == 2);
  for (char* word = strtok(arguments[1], ":"); word != NULL; word = strtok(NULL, ":")) {
    all += shares[ranks++] = atoi(word);
  }
  pthread_t threads[threads_max];
  CHECK(sem_init(&has_begun, 0, 0) == 0 && sem_init(&may_end, 0, 0) == 0);
  // The shares, in turn; main is the first thread.
  processes[0] = process_of_thread();
  for (int i = 1; i < all; ++i) begin(&threads[i], &processes[i]);
  for (int rank = 0, first = 0; rank < ranks; first += shares[rank++]) {
    CHECK(distinct(processes + first, shares[rank]) == 1);
    CHECK(count_in(processes[first], all) == shares[rank]);
  }
  CHECK(distinct(processes, all) == ranks);
  // As many again: each rank has twice its share.
  for (int i = all; i < 2 * all; ++i) begin(&threads[i], &processes[i]);
  for (int rank = 0, first = 0; rank < ranks; first += shares[rank++]) {
    CHECK(count_in(processes[first], 2 * all) == 2 * shares[rank]);
  }
  // A place that is given back is the next one taken.
  for (int i = 1; i < 2 * all; ++i) CHECK(sem_post(&may_end) == 0);
  for (int i = 1; i < 2 * all; ++i) {
    void* result;
    CHECK(pthread_join(threads[i], &result) == 0 && result == &processes[i]);
  }
  for (int i = 1; i < all; ++i) begin(&threads[i], &processes[i]);
  for (int rank = 0, first = 0; rank < ranks; first += shares[rank++]) {
    CHECK(count_in(processes[first], all) == shares[rank]);
  }
  for (int i = 1; i < all; ++i) CHECK(sem_post(&may_end) == 0);
  for (int i = 1; i < all; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  printf("places: passed\n");
  return 0;
}
