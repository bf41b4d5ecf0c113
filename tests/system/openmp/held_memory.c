// `held_memory <kind> [times]`: thousands of turns of one kind of allocation, in phases of different sizes,
// by all threads. The job's memory stays below twice the program's peak plus the runtime's allowance; it does
// not grow in the second half of the turns: in the first, processes touch memory that they keep.
#include <pthread.h>
#include <sys/mman.h>

#include "../held.h"
#include "check.h"

static struct holders all_holders;

static long held_bytes(void) {
  all_holders.count = 0;
#pragma omp parallel
  {
    struct holders own;
    own.count = 0;
    note_process(&own);
    note_memory_files(&own);
#pragma omp critical(holders)
    for (int i = 0; i < own.count; ++i) note_holder(&all_holders, own.key[i], own.bytes[i]);
  }
  long sum = 0;
  for (int i = 0; i < all_holders.count; ++i) sum += all_holders.bytes[i];
  return sum;
}

enum { MiB = 1 << 20, page = 4096 };
// Free memory that each process may keep, and its own needs.
static const long kept_per_process = 48L * MiB;

static void touch(volatile char* memory, size_t bytes) {
  for (size_t i = 0; i < bytes; i += page) memory[i] = (char)(i + 1);
  memory[bytes - 1] = 1;
}

// Pieces of one size, a megabyte together.
static void take_pieces(size_t bytes, size_t alignment, int zeroed) {
  const int count = (int)(MiB / bytes);
  char** const pieces = malloc((size_t)count * sizeof *pieces);
  for (int i = 0; i < count; ++i) {
    void* piece = NULL;
    if (alignment != 0) {
      CHECK(posix_memalign(&piece, alignment, bytes) == 0);
      CHECK((unsigned long)piece % alignment == 0);
    } else {
      piece = zeroed ? calloc(1, bytes) : malloc(bytes);
    }
    pieces[i] = piece;
    if (zeroed) {
      for (size_t at = 0; at < bytes; at += 64) CHECK(pieces[i][at] == 0);
    }
    touch(pieces[i], bytes);
  }
  for (int i = 0; i < count; ++i) free(pieces[i]);
  free(pieces);
}

static const size_t sizes[] = {100, 1000, 128, 448, 20000, 40000, 24, 9000, 3000, 100000, 300000};
static size_t size_of(int turn) {
  return sizes[turn % (int)(sizeof sizes / sizeof *sizes)];
}

static void small_turn(int turn) {
  take_pieces(size_of(turn), 0, 0);
}
// A small piece at a large alignment takes more than its size.
static void aligned_turn(int turn) {
  size_t alignment = (size_t)64 << turn % 10;
  while (alignment > 64 && alignment > size_of(turn)) alignment /= 2;
  take_pieces(size_of(turn), alignment, 0);
}
static void zeroed_turn(int turn) {
  take_pieces(size_of(turn), 0, 1);
}

static void huge_turn(int turn) {
#pragma omp barrier
  if (turn % omp_get_num_threads() != omp_get_thread_num()) return;
  const size_t bytes = 192L * MiB - (size_t)(turn % 3) * 5 * MiB;
  char* const memory = malloc(bytes);
  touch(memory, bytes);
  free(memory);
}

static void growing_turn(int turn) {
  char* memory = NULL;
  for (size_t bytes = 16 + (size_t)turn % 7; bytes < 2 * MiB; bytes += bytes / 2) {
    memory = realloc(memory, bytes);
    touch(memory, bytes);
  }
  free(memory);
}

// Other threads free the memory that one thread has allocated.
static char* handed[64];
static void handed_turn(int turn) {
  const size_t bytes = size_of(turn);
#pragma omp barrier
  if (omp_get_thread_num() == turn % omp_get_num_threads()) {
    for (int i = 0; i < 64; ++i) touch(handed[i] = malloc(bytes), bytes);
  }
#pragma omp barrier
#pragma omp for schedule(static, 1)
  for (int i = 0; i < 64; ++i) free(handed[i]);
}

static void mapped_turn(int turn) {
  const size_t bytes = page * (1 + (size_t)(turn * 37 % 300));
  char* const memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED && memory[bytes - 1] == 0);
  touch(memory, bytes);
  const size_t half = bytes / page / 2 * page;
  if (half != 0) CHECK(munmap(memory + bytes - half, half) == 0);
  CHECK(munmap(memory, bytes - half) == 0);
}

// Mappings that stay, and whose pages the program drops.
static void dropped_turn(int turn) {
  enum { mappings = 24 };
  static char* all[mappings * 64];
  const size_t bytes = 8L * MiB + 5 * page;
  char** const own = &all[(omp_get_thread_num() * mappings + turn % mappings) % (mappings * 64)];
  if (*own == NULL) {
    *own = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(*own != MAP_FAILED);
  }
  touch(*own, bytes);
  CHECK(madvise(*own + page, bytes - page, MADV_DONTNEED) == 0);
  CHECK((*own)[0] == 1);
  for (size_t i = page; i < bytes; i += 256 * page) CHECK((*own)[i] == 0);
  CHECK((*own)[bytes - 1] == 0);
}

static void* use_stack(void* nothing) {
  volatile char part[32 << 10];
  for (size_t i = 0; i < sizeof part; i += page) part[i] = 1;
  return nothing;
}
static void threads_turn(int turn) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, use_stack, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  (void)turn;
}

static void locks_turn(int turn) {
  omp_lock_t lock;
  omp_init_lock(&lock);
  omp_set_lock(&lock);
  omp_unset_lock(&lock);
  omp_destroy_lock(&lock);
  pthread_mutex_t mutex;
  pthread_mutex_init(&mutex, NULL);
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  pthread_mutex_destroy(&mutex);
  (void)turn;
}

// Locks that are never destroyed before their memory is freed, as is usual with std::mutex.
static void mutexes_turn(int turn) {
  enum { count = 100 };
  pthread_mutex_t* const mutexes = malloc(count * sizeof *mutexes);
  memset(mutexes, 0, count * sizeof *mutexes);
  for (int i = 0; i < count; ++i) {
    CHECK(pthread_mutex_lock(&mutexes[i]) == 0);
    CHECK(pthread_mutex_unlock(&mutexes[i]) == 0);
  }
  free(mutexes);
  (void)turn;
}

static void descriptors_turn(int turn) {
  FILE* const file = fopen("/dev/null", turn % 2 == 0 ? "r" : "w");
  CHECK(file != NULL && fclose(file) == 0);
  int ends[2];
  CHECK(pipe(ends) == 0 && close(ends[0]) == 0 && close(ends[1]) == 0);
}

static void tasks_turn(int turn) {
  struct {
    char bytes[3000];
  } given;
  memset(&given, turn, sizeof given);
#pragma omp single
  for (int i = 0; i < 32; ++i) {
#pragma omp task firstprivate(given)
    CHECK(given.bytes[2999] == (char)turn);
  }
}

static void barriers_turn(int turn) {
  (void)turn;
#pragma omp barrier
}

static long under_critical;
static void criticals_turn(int turn) {
#pragma omp critical
  under_critical += turn;
}

// Threads change each block in turn: changes and notices of the protocol.
static char written[64 * page];
static void writes_turn(int turn) {
  const int threads = omp_get_num_threads(), own = omp_get_thread_num();
  for (int i = own; i < 64 * 16; i += threads) written[i * 256] = (char)turn;
#pragma omp barrier
  for (int i = 0; i < 64 * 16; ++i) CHECK(written[i * 256] == (char)turn);
#pragma omp barrier
}

// For its own parallel region.
static void region_turn(int turn) {
  long sum = 0;
#pragma omp parallel reduction(+ : sum)
  sum += turn;
  CHECK(sum >= turn);
}

static const struct kind {
  const char* name;
  void (*turn)(int turn);
  int turns;
  long used_per_thread, used;  // at one time
  int in_region;
} kinds[] = {
    {"small", small_turn, 1100, 2L * MiB, 0, 1},     {"aligned", aligned_turn, 1100, 4L * MiB, 0, 1},
    {"zeroed", zeroed_turn, 1100, 2L * MiB, 0, 1},   {"huge", huge_turn, 12, 0, 192L * MiB, 1},
    {"growing", growing_turn, 1200, 4L * MiB, 0, 1}, {"handed", handed_turn, 440, 0, 20L * MiB, 1},
    {"mapped", mapped_turn, 800, 2L * MiB, 0, 1},    {"dropped", dropped_turn, 96, 9L * MiB, 0, 1},
    {"threads", threads_turn, 8000, 0, 0, 1},        {"locks", locks_turn, 8000, 0, 0, 1},
    {"mutexes", mutexes_turn, 3400, 0, 0, 1},        {"descriptors", descriptors_turn, 2000, 0, 0, 1},
    {"tasks", tasks_turn, 1000, 0, MiB, 1},          {"barriers", barriers_turn, 10000, 0, 0, 1},
    {"criticals", criticals_turn, 10000, 0, 0, 1},   {"writes", writes_turn, 400, 0, MiB, 1},
    {"regions", region_turn, 10000, 0, 0, 0},
};

static void run_turns(const struct kind* kind, int first, int end) {
  if (kind->in_region) {
#pragma omp parallel
    for (int turn = first; turn < end; ++turn) kind->turn(turn);
  } else {
    for (int turn = first; turn < end; ++turn) kind->turn(turn);
  }
}

int main(int argc, char** argv) {
  const struct kind* kind = kinds;
  while (argc > 1 && kind < kinds + sizeof kinds / sizeof *kinds && strcmp(kind->name, argv[1]) != 0) ++kind;
  if (kind == kinds + sizeof kinds / sizeof *kinds) return 2;
  const int turns = kind->turns * (argc > 2 ? atoi(argv[2]) : 1);
  const long before = held_bytes();
  long held[4];
  for (int quarter = 0; quarter < 4; ++quarter) {
    run_turns(kind, quarter * turns / 4, (quarter + 1) * turns / 4);
    held[quarter] = held_bytes() - before;
  }
  const int threads = omp_get_max_threads();
  const long used = kind->used + threads * kind->used_per_thread;
  const long most = 2 * used + threads * kept_per_process;
  const long growth = held[3] - held[1], growth_max = used + MiB / 4;
  printf("%s: %ld KiB in use; held %ld, %ld, %ld, %ld KiB more than at the start\n", kind->name, used >> 10,
         held[0] >> 10, held[1] >> 10, held[2] >> 10, held[3] >> 10);
  for (int quarter = 0; quarter < 4; ++quarter) CHECK(held[quarter] <= most);
  CHECK(growth <= growth_max);
  puts("verified");
  return 0;
}
