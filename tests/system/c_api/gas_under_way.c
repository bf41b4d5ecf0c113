/* A rank of a job with many calls of gas.h in flight: gas_under_way <threads> <rounds>. The threads of a
 * rank share 256 calls. Each round the ranks pass their places on, so that bytes and pages cross the
 * network; all values read are checked. */
#include <musubi/gas.h>
#include <musubi/musubi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                       \
  do {                                                                                         \
    if (!(condition)) {                                                                        \
      fprintf(stderr, "%s:%d: rank %d: not true: %s\n", __FILE__, __LINE__, rank, #condition); \
      musubi_abort(99, "a check of the test failed");                                          \
    }                                                                                          \
  } while (0)

enum { calls = 256, page_bytes = 1024, pages_of_call = 3, bytes_of_call = page_bytes * pages_of_call };

static gas_address places;
static int rank, ranks, threads, rounds;
static pthread_barrier_t threads_meet;

struct call {
  gas_address place;
  long handle;
  size_t first, bytes; /* put in this round */
  uint32_t seed;
  unsigned char local[bytes_of_call], expected[bytes_of_call];
};

static uint32_t draw(uint32_t* seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return *seed >> 8;
}

/* The value that the owner of the place in this round puts there, over the value that it has found. */
static void write_round(struct call* call, uint32_t place, uint32_t round) {
  uint32_t seed = place * 2654435761u + round * 40503u;
  call->first = draw(&seed) % bytes_of_call;
  call->bytes = 1 + draw(&seed) % (bytes_of_call - call->first);
  if (draw(&seed) % 2) call->bytes = 1 + (call->bytes - 1) % 64;
  for (size_t i = 0; i < call->bytes; ++i) call->expected[call->first + i] = (unsigned char)draw(&seed);
}

static void wait_for(struct call* all, int count) {
  for (int i = 0; i < count; ++i) CHECK(gas_wait(all[i].handle) == 0);
}

/* One thread's share of a round: reads, brings half of the pages here, writes. */
static void play_round(struct call* all, int first, int count, int round) {
  const uint32_t owner = (uint32_t)(rank + round) % (uint32_t)ranks;
  for (int i = 0; i < count; ++i) {
    const uint32_t place = owner * calls + (uint32_t)(first + i);
    struct call* const call = &all[i];
    call->place = places + (gas_address)place * bytes_of_call;
    memset(call->expected, 0, bytes_of_call);
    for (int earlier = 0; earlier < round; ++earlier) write_round(call, place, (uint32_t)earlier);
    memset(call->local, 0xff, bytes_of_call);
    call->handle = gas_get_begin(call->place, call->local, bytes_of_call);
    CHECK(call->handle >= 0);
  }
  wait_for(all, count);
  for (int i = 0; i < count; ++i) CHECK(memcmp(all[i].local, all[i].expected, bytes_of_call) == 0);
  for (int i = 0; i < count; ++i) {
    all[i].handle = i % 2 == round % 2 ? gas_own_begin(all[i].place, bytes_of_call) : 0;
    CHECK(all[i].handle >= 0);
  }
  wait_for(all, count);
  for (int i = 0; i < count; ++i) {
    struct call* const call = &all[i];
    write_round(call, owner * calls + (uint32_t)(first + i), (uint32_t)round);
    call->handle = gas_put_begin(call->place + call->first, call->expected + call->first, call->bytes);
    CHECK(call->handle >= 0);
  }
  wait_for(all, count);
}

static void* play(void* argument) {
  const int thread = (int)(intptr_t)argument, count = calls / threads;
  struct call* const all = calloc((size_t)count, sizeof *all);
  CHECK(all != NULL && (thread == 0 || musubi_attach_thread() == MUSUBI_OK));
  for (int round = 0; round < rounds; ++round) {
    play_round(all, thread * count, count, round);
    pthread_barrier_wait(&threads_meet);
    if (thread == 0) CHECK(musubi_barrier() == MUSUBI_OK);
    pthread_barrier_wait(&threads_meet);
  }
  if (thread != 0) CHECK(musubi_detach_thread() == MUSUBI_OK);
  free(all);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 3) return 98;
  threads = atoi(argv[1]);
  rounds = atoi(argv[2]);
  if (threads < 1 || threads > 8 || calls % threads != 0 || musubi_init(&argc, &argv) != MUSUBI_OK) return 98;
  rank = musubi_rank();
  ranks = musubi_size();
  places = gas_alloc((size_t)ranks * calls * bytes_of_call, page_bytes, GAS_CYCLIC);
  CHECK(places != 0 && musubi_barrier() == MUSUBI_OK);
  pthread_barrier_init(&threads_meet, NULL, (unsigned)threads);
  pthread_t others[8];
  for (intptr_t i = 1; i < threads; ++i) CHECK(pthread_create(&others[i], NULL, play, (void*)i) == 0);
  play(NULL);
  for (int i = 1; i < threads; ++i) CHECK(pthread_join(others[i], NULL) == 0);
  return musubi_finalize(0);
}
