/* Memory of musubi.h that checks alone protect, in a program whose note says that it has them: accesses by
 * checks, functions of musubi.h, and system calls. */
#include <unistd.h>

#include <musubi/gheap.h>
#include "../checks_by_hand.h"
#include "checks.h"

NOTE(MUSUBI_CHECKS_ABI, 6, 3);

enum { bytes = 100000, words = bytes / 8 };

static unsigned char state(const volatile void* address) {
  return ((const volatile unsigned char*)MUSUBI_CHECKS_TABLE)[(uintptr_t)address >> 6];
}
static uint64_t read_word(const volatile uint64_t* word) {
  if ((state(word) & MUSUBI_CHECKS_NOT_READABLE) != 0) CALL_ENTRY(MUSUBI_CHECKS_ENTRY_READ, word, 0L);
  return *word;
}
/* No value here has the word UNWRITTEN. */
static void write_word(volatile uint64_t* word, uint64_t value) {
  if ((state(word) & MUSUBI_CHECKS_NOT_STORABLE) != 0) CALL_ENTRY(MUSUBI_CHECKS_ENTRY_STORE, word, 0L);
  *word = value;
}

static void share(uint64_t* memory, uint64_t salt) {
  for (int i = rank; i < words; i += ranks) write_word(memory + i, salt * 1000003 + (uint64_t)i);
  BARRIER();
  for (int i = 0; i < words; ++i) CHECK(read_word(memory + i) == salt * 1000003 + (uint64_t)i);
  BARRIER();
}

/* To the global heap of the next rank and back, from and to words that another rank has written. */
static void copy_globally(uint64_t* memory) {
  const int next = (rank + 1) % ranks;
  if (rank == 0) {
    for (uint64_t i = 0; i < 64; ++i) write_word(memory + 300 + i, 5000 + i);
  }
  BARRIER();
  CHECK(musubi_gput(next, 0, memory + 300, 512) == 0);
  BARRIER();
  uint64_t* const received = memory + 400 + 64 * rank;
  CHECK(musubi_gget(rank, 0, received, 512) == 0);
  BARRIER();
  for (int i = 0; i < 64 * ranks; ++i) CHECK(read_word(memory + 400 + i) == 5000 + (uint64_t)i % 64);
  BARRIER();
}

/* The functions read and store these words, which another rank has written. */
static void collect(uint64_t* memory) {
  if (rank == ranks - 1) {
    for (uint64_t i = 0; i < 20; ++i) write_word(memory + i, 100 + i);
  }
  BARRIER();
  uint64_t* const own = memory + 20 * (rank + 1);
  write_word(own, (uint64_t)rank + 1);
  BARRIER();
  write_word(memory + 20 * ((rank + 1) % ranks + 1) + 1, 1); /* next to the word of another rank */
  BARRIER();
  CHECK(musubi_allreduce(own, 1, MUSUBI_UINT64, MUSUBI_SUM) == MUSUBI_OK);
  BARRIER();
  for (int i = 1; i <= ranks; ++i) CHECK(read_word(memory + 20 * i) == (uint64_t)(ranks * (ranks + 1) / 2));
  if (rank == 0) write_word(memory + 3, 7);
  BARRIER();
  CHECK(musubi_broadcast_values(memory, 160, 0) == MUSUBI_OK);
  CHECK(read_word(memory + 3) == 7 && read_word(memory + 4) == 104);
  BARRIER();
}

/* The functions read words that another rank has written and this one has never opened: where it is not their
 * home, it has old bytes of them. */
static void collect_from_others(uint64_t* memory) {
  enum { count = 32, first = 1000 };
  for (int root = 0; root < ranks; ++root) {
    uint64_t* const sent = memory + first + count * root;
    if (rank == (root + 1) % ranks) {
      for (uint64_t i = 0; i < count; ++i) write_word(sent + i, 9000 + 100 * (uint64_t)root + i);
    }
    BARRIER();
    CHECK(musubi_broadcast_values(sent, count * 8, root) == MUSUBI_OK);
    for (uint64_t i = 0; i < count; ++i) CHECK(read_word(sent + i) == 9000 + 100 * (uint64_t)root + i);
    BARRIER();
  }
  uint64_t* const given = memory + first + count * (ranks + (rank + 1) % ranks);
  uint64_t* const own = memory + first + count * (ranks + rank);
  for (uint64_t i = 0; i < count; ++i) write_word(given + i, i + 1);
  BARRIER();
  CHECK(musubi_allreduce(own, count, MUSUBI_UINT64, MUSUBI_SUM) == MUSUBI_OK);
  for (uint64_t i = 0; i < count; ++i) CHECK(read_word(own + i) == (i + 1) * (uint64_t)ranks);
  BARRIER();
  for (uint64_t i = 0; i < 8; ++i) {
    if (rank == ranks - 1) write_word(memory + 2000 + 8 * i, (uint64_t)memory + i);
    BARRIER();
    void* other = NULL;
    void** const pointer = rank == 0 ? (void**)(memory + 2000 + 8 * i) : &other;
    CHECK(musubi_broadcast(pointer) == MUSUBI_OK);
    CHECK(rank == 0 || other == (char*)memory + i);
    BARRIER();
  }
}

static void pass_to_kernel(uint64_t* memory) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  for (int turn = 0; turn < 4; ++turn) {
    if (rank == turn % ranks) {
      char text[1000];
      for (int i = 0; i < 1000; ++i) text[i] = (char)(turn + i);
      CHECK(write(ends[1], text, sizeof text) == (ssize_t)sizeof text);
      CHECK(musubi_touch(memory + 11, sizeof text, 1) == MUSUBI_OK);
      CHECK(read(ends[0], memory + 11, sizeof text) == (ssize_t)sizeof text);
    }
    BARRIER();
    char found[1000];
    CHECK(musubi_touch(memory + 11, sizeof found, 0) == MUSUBI_OK);
    CHECK(write(ends[1], memory + 11, sizeof found) == (ssize_t)sizeof found);
    CHECK(read(ends[0], found, sizeof found) == (ssize_t)sizeof found);
    for (int i = 0; i < 1000; ++i) CHECK(found[i] == (char)(turn + i));
    BARRIER();
  }
}

static void use_memory(size_t block, int policy) {
  musubi_attributes attributes = {0};
  attributes.block_bytes = block;
  attributes.policy = policy;
  attributes.checks = MUSUBI_CHECKED_BY_CODE;
  void* memory = NULL;
  CHECK(musubi_alloc_with(&attributes, bytes, &memory) == MUSUBI_OK);
  share(memory, block);
  collect(memory);
  collect_from_others(memory);
  copy_globally(memory);
  CHECK(musubi_atomic_fetch_add_64((uint64_t*)memory + 200, 1, NULL) == MUSUBI_OK);
  BARRIER();
  pass_to_kernel(memory);
  CHECK(musubi_free_with(memory) == MUSUBI_OK);
  attributes.policy = MUSUBI_POLICY_ENTRY;
  CHECK(musubi_alloc_with(&attributes, bytes, &memory) == MUSUBI_ERROR_ARGUMENT);
}

int main(int argc, char** argv) {
  (void)join_job(argc, argv);
  CHECK(ginit(1 << 16) == 0);
  BARRIER();
  for (size_t block = MUSUBI_CHECKED_BLOCK_BYTES_MIN; block <= 4096; block *= 4) {
    use_memory(block, MUSUBI_POLICY_HOME);
    use_memory(block, MUSUBI_POLICY_HOME_ONLY);
  }
  return musubi_finalize(0);
}
