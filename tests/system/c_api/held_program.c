/* Thousands of turns of one kind of allocation, or of synchronisation, by all ranks: the job's memory
 * stays below twice the memory in use by the ranks plus the runtime's allowance; it does not grow between
 * the first quarter of the turns and the last. */
#include "../held.h"

#include <musubi/gas.h>
#include <musubi/gheap.h>

#include "checks.h"

enum { MiB = 1 << 20, pieces = 16 };

static const size_t sizes[] = {100, 1000, 128, 448, 20000, 40000, 24, 9000, 3000, 100000, 300000};
static size_t size_of(int turn) {
  return sizes[turn % (int)(sizeof sizes / sizeof *sizes)];
}

/* Memory files are the same for all: rank 0 has them all open. */
static long held_bytes(void) {
  static struct holders all;
  all.count = 0;
  note_process(&all);
  if (rank == 0) note_memory_files(&all);
  int64_t sum = 0;
  for (int i = 0; i < all.count; ++i) sum += all.bytes[i];
  CHECK(musubi_allreduce(&sum, 1, MUSUBI_INT64, MUSUBI_SUM) == MUSUBI_OK);
  return (long)sum;
}

static void alloc_turn(int turn) {
  char* taken[pieces];
  for (int i = 0; i < pieces; ++i) {
    CHECK((taken[i] = musubi_alloc(size_of(turn))) != NULL);
    memset(taken[i], turn, size_of(turn));
  }
  for (int i = 0; i < pieces; ++i) CHECK(musubi_free(taken[i]) == MUSUBI_OK);
}

/* Freed by another rank. */
static void handed_turn(int turn) {
  static char** boxes;
  if (boxes == NULL) boxes = allocate_for_all(64 * sizeof *boxes);
  CHECK((boxes[rank] = musubi_alloc(size_of(turn))) != NULL);
  memset(boxes[rank], turn, size_of(turn));
  BARRIER();
  CHECK(musubi_free(boxes[(rank + 1) % ranks]) == MUSUBI_OK);
  BARRIER();
}

static void with_turn(int turn) {
  musubi_attributes attributes;
  memset(&attributes, 0, sizeof attributes);
  void* memory = NULL;
  (void)turn;
  CHECK(musubi_alloc_with(&attributes, 10000, &memory) == MUSUBI_OK);
  ((char*)memory)[rank] = 1;
  CHECK(musubi_free_with(memory) == MUSUBI_OK);
}

static void galloc_turn(int turn) {
  static int begun = 0;
  if (!begun) CHECK(ginit(MiB) == 0);
  begun = 1;
  long taken[pieces];
  const int owner = (rank + turn) % ranks;
  char bytes[64] = {1};
  for (int i = 0; i < pieces; ++i) {
    CHECK((taken[i] = musubi_galloc(owner, size_of(turn) % 30000)) >= 0);
    const long copy = musubi_gput_begin(owner, taken[i], bytes, 16);
    CHECK(copy >= 0 && musubi_gwait(copy) == 0);
  }
  for (int i = 0; i < pieces; ++i) CHECK(musubi_gfree(owner, taken[i]) == 0);
}

static void gas_turn(int turn) {
  const size_t bytes = 4096 * (1 + (size_t)turn % 30);
  const gas_address address = gas_alloc(bytes, 4096, GAS_CYCLIC);
  CHECK(address != 0);
  char own[4096];
  memset(own, turn, sizeof own);
  CHECK(gas_put(address, own, sizeof own) == 0);
  BARRIER();
  CHECK(gas_free(address) == 0);
}

/* Each quarter uses the same locks: a lock costs memory from its first use on. */
static void locks_turn(int turn) {
  const uint32_t lock = (uint32_t)turn % 1000 * 37 % 60000;
  CHECK(musubi_lock(lock) == MUSUBI_OK && musubi_unlock(lock) == MUSUBI_OK);
  CHECK(musubi_rdlock(lock % 4096) == MUSUBI_OK && musubi_rwunlock(lock % 4096) == MUSUBI_OK);
}

static void barriers_turn(int turn) {
  int64_t sum = turn;
  BARRIER();
  CHECK(musubi_allreduce(&sum, 1, MUSUBI_INT64, MUSUBI_SUM) == MUSUBI_OK && sum == (int64_t)turn * ranks);
}

/* `used`: bytes in use by each rank at one time. */
static void take_turns(void (*turn)(int), int turns, long used_by_each) {
  const long before = held_bytes(), used = ranks * used_by_each;
  long held[4];
  for (int quarter = 0; quarter < 4; ++quarter) {
    for (int number = turns * quarter / 4; number < turns * (quarter + 1) / 4; ++number) turn(number);
    held[quarter] = held_bytes() - before;
  }
  if (rank == 0)
    printf("%ld KiB in use; held %ld, %ld, %ld, %ld KiB more than at the start\n", used >> 10, held[0] >> 10,
           held[1] >> 10, held[2] >> 10, held[3] >> 10);
  for (int quarter = 0; quarter < 4; ++quarter) CHECK(held[quarter] <= 2 * used + ranks * 40L * MiB);
  CHECK(held[3] - held[0] <= used + MiB / 4);
}

static void held_alloc(void) {
  take_turns(alloc_turn, 4000, 5L * MiB);
}
static void held_handed(void) {
  take_turns(handed_turn, 2000, MiB);
}
static void held_with(void) {
  take_turns(with_turn, 400, 0);
}
static void held_galloc(void) {
  take_turns(galloc_turn, 4000, 4L * MiB);
}
static void held_gas(void) {
  take_turns(gas_turn, 6000, 0);
}
static void held_locks(void) {
  take_turns(locks_turn, 10000, 0);
}
static void held_barriers(void) {
  take_turns(barriers_turn, 10000, 0);
}

int main(int argc, char** argv) {
  static const struct test_case cases[] = {{"held_alloc", held_alloc},      {"held_handed", held_handed},
                                           {"held_with", held_with},        {"held_galloc", held_galloc},
                                           {"held_gas", held_gas},          {"held_locks", held_locks},
                                           {"held_barriers", held_barriers}};
  const char* const name = join_job(argc, argv);
  if (!run_case(name, cases, sizeof cases / sizeof *cases)) return 98;
  return musubi_finalize(0);
}
