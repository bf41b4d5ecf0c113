/* A rank of a job that tries the collective calls of musubi.h: collectives_program <case>. Each case checks
 * itself. */
#include "checks.h"

enum { count = 5 };

static int64_t whole(int of_rank, int i) {
  return (of_rank * 7 + i * 3) % 11 - 5;
}

/* Combines the ranks' values by `operation`, from left to right. */
static int64_t expected(int operation, int i) {
  int64_t result = whole(0, i);
  for (int r = 1; r < ranks; ++r) {
    const int64_t value = whole(r, i);
    if (operation == MUSUBI_SUM) result += value;
    if (operation == MUSUBI_PROD) result *= value;
    if (operation == MUSUBI_MIN && value < result) result = value;
    if (operation == MUSUBI_MAX && value > result) result = value;
    if (operation == MUSUBI_AND) result &= value;
    if (operation == MUSUBI_OR) result |= value;
    if (operation == MUSUBI_XOR) result ^= value;
  }
  return result;
}

#define TRY_TYPE(T, type, last)                                                   \
  do {                                                                            \
    for (int operation = MUSUBI_SUM; operation <= (last); ++operation) {          \
      T all[count], one[count];                                                   \
      const int root = operation % ranks;                                         \
      for (int i = 0; i < count; ++i) all[i] = one[i] = (T)whole(rank, i);        \
      CHECK(musubi_allreduce(all, count, (type), operation) == MUSUBI_OK);        \
      CHECK(musubi_reduce(one, count, (type), operation, root) == MUSUBI_OK);     \
      for (int i = 0; i < count; ++i) {                                           \
        /* MIN and MAX of unsigned values order negative ones last. */            \
        const int is_order = operation == MUSUBI_MIN || operation == MUSUBI_MAX;  \
        if (!(is_order && (T)-1 > 0)) CHECK(all[i] == (T)expected(operation, i)); \
        CHECK(one[i] == (rank == root ? all[i] : (T)whole(rank, i)));             \
      }                                                                           \
    }                                                                             \
  } while (0)

static void types_and_operations(void) {
  TRY_TYPE(int32_t, MUSUBI_INT32, MUSUBI_XOR);
  TRY_TYPE(uint32_t, MUSUBI_UINT32, MUSUBI_XOR);
  TRY_TYPE(int64_t, MUSUBI_INT64, MUSUBI_XOR);
  TRY_TYPE(uint64_t, MUSUBI_UINT64, MUSUBI_XOR);
  TRY_TYPE(float, MUSUBI_FLOAT, MUSUBI_MAX);
  TRY_TYPE(double, MUSUBI_DOUBLE, MUSUBI_MAX);
  uint64_t order[2] = {(uint64_t)rank, (uint64_t)-1 - (uint64_t)rank};
  CHECK(musubi_allreduce(order, 2, MUSUBI_UINT64, MUSUBI_MAX) == MUSUBI_OK);
  CHECK(order[0] == (uint64_t)ranks - 1 && order[1] == (uint64_t)-1);
}

/* Sums that only one order of addition gives: rank by rank. */
static void order_of_sums(void) {
  double value = rank == 0 ? 1e16 : 1.0, sum = 1e16;
  for (int r = 1; r < ranks; ++r) sum += 1.0;
  CHECK(musubi_allreduce(&value, 1, MUSUBI_DOUBLE, MUSUBI_SUM) == MUSUBI_OK);
  CHECK(value == sum);
}

/* More than fits a message, in private and in shared memory; from each rank. */
static void large(void) {
  enum { many = 30001 };
  int32_t* const numbers = malloc(many * sizeof *numbers);
  int32_t* const shared = allocate_for_all((size_t)ranks * many * sizeof *shared);
  int32_t* const mine = shared + rank * many;
  CHECK(numbers != NULL);
  for (int i = 0; i < many; ++i) numbers[i] = mine[i] = rank + i;
  CHECK(musubi_allreduce(numbers, many, MUSUBI_INT32, MUSUBI_SUM) == MUSUBI_OK);
  CHECK(musubi_allreduce(mine, many, MUSUBI_INT32, MUSUBI_SUM) == MUSUBI_OK);
  for (int i = 0; i < many; ++i) {
    CHECK(numbers[i] == ranks * i + ranks * (ranks - 1) / 2 && mine[i] == numbers[i]);
  }
  for (int root = 0; root < ranks; ++root) {
    for (int i = 0; i < many; ++i) numbers[i] = rank * 1000 + i;
    CHECK(musubi_broadcast_values(numbers, many * sizeof *numbers - 1, root) == MUSUBI_OK);
    for (int i = 0; i < many - 1; ++i) CHECK(numbers[i] == root * 1000 + i);
  }
  free(numbers);
}

/* Ranks that are ahead of other ranks, and barriers between. */
static void one_after_the_other(void) {
  for (int i = 0; i < 500; ++i) {
    uint32_t value = (uint32_t)(rank == i % ranks);
    CHECK(musubi_allreduce(&value, 1, MUSUBI_UINT32, MUSUBI_SUM) == MUSUBI_OK && value == 1);
    int text = rank * 100 + i;
    CHECK(musubi_broadcast_values(&text, sizeof text, i % ranks) == MUSUBI_OK);
    CHECK(text == i % ranks * 100 + i);
    if (i % 3 == 0) BARRIER();
    void* pointer = rank == 0 ? &value : NULL;
    if (i % 7 == 0) CHECK(musubi_broadcast(&pointer) == MUSUBI_OK && pointer != NULL);
  }
}

static void refused(void) {
  int64_t value = 5;
  CHECK(musubi_allreduce(&value, 1, 6, MUSUBI_SUM) == MUSUBI_ERROR_ARGUMENT);
  CHECK(musubi_allreduce(&value, 1, -1, MUSUBI_SUM) == MUSUBI_ERROR_ARGUMENT);
  CHECK(musubi_allreduce(&value, 1, MUSUBI_INT64, 7) == MUSUBI_ERROR_ARGUMENT);
  CHECK(musubi_allreduce(&value, 1, MUSUBI_INT64, -1) == MUSUBI_ERROR_ARGUMENT);
  CHECK(musubi_allreduce(&value, 1, MUSUBI_DOUBLE, MUSUBI_AND) == MUSUBI_ERROR_ARGUMENT);
  CHECK(musubi_allreduce(&value, 1, MUSUBI_FLOAT, MUSUBI_XOR) == MUSUBI_ERROR_ARGUMENT);
  CHECK(musubi_allreduce(&value, SIZE_MAX / 2, MUSUBI_INT64, MUSUBI_SUM) == MUSUBI_ERROR_ARGUMENT);
  CHECK(musubi_allreduce(NULL, 1, MUSUBI_INT64, MUSUBI_SUM) == MUSUBI_ERROR_ADDRESS);
  CHECK(musubi_allreduce(NULL, 0, MUSUBI_INT64, MUSUBI_SUM) == MUSUBI_OK);
  CHECK(musubi_reduce(&value, 1, MUSUBI_INT64, MUSUBI_SUM, ranks) == MUSUBI_ERROR_ARGUMENT);
  CHECK(musubi_reduce(&value, 1, MUSUBI_INT64, MUSUBI_SUM, -1) == MUSUBI_ERROR_ARGUMENT);
  CHECK(musubi_broadcast_values(&value, 8, ranks) == MUSUBI_ERROR_ARGUMENT);
  CHECK(musubi_broadcast_values(&value, SIZE_MAX, 0) == MUSUBI_ERROR_ARGUMENT);
  CHECK(musubi_broadcast_values(NULL, 8, 0) == MUSUBI_ERROR_ADDRESS);
  CHECK(musubi_broadcast_values(NULL, 0, 0) == MUSUBI_OK);
  CHECK(value == 5);
}

static const char* text_of_case;

/* The last rank makes another call than the other ranks. */
static void mismatch(void) {
  const int other = rank == ranks - 1;
  const char* const kind = text_of_case + strlen("mismatch_");
  int32_t values[4] = {0};
  BARRIER();
  if (strcmp(kind, "size") == 0) musubi_allreduce(values, other ? 2 : 1, MUSUBI_INT32, MUSUBI_SUM);
  if (strcmp(kind, "operation") == 0) {
    musubi_allreduce(values, 1, MUSUBI_INT32, other ? MUSUBI_MAX : MUSUBI_SUM);
  }
  if (strcmp(kind, "type") == 0) {
    musubi_allreduce(values, 1, other ? MUSUBI_FLOAT : MUSUBI_INT32, MUSUBI_SUM);
  }
  if (strcmp(kind, "root") == 0) musubi_broadcast_values(values, 4, other);
  if (strcmp(kind, "call") == 0 && other) musubi_broadcast_values(values, 4, 0);
  if (strcmp(kind, "call") == 0 && !other) musubi_allreduce(values, 1, MUSUBI_INT32, MUSUBI_SUM);
  if (strcmp(kind, "barrier") == 0 && other) musubi_barrier();
  if (strcmp(kind, "barrier") == 0 && !other) musubi_allreduce(values, 1, MUSUBI_INT32, MUSUBI_SUM);
  if (strcmp(kind, "reduce") == 0 && other) musubi_allreduce(values, 1, MUSUBI_INT32, MUSUBI_SUM);
  if (strcmp(kind, "reduce") == 0 && !other) musubi_barrier();
  if (strcmp(kind, "end") == 0 && !other) musubi_allreduce(values, 1, MUSUBI_INT32, MUSUBI_SUM);
  void* pointer = NULL;
  if (strcmp(kind, "pointer") == 0 && other) musubi_broadcast(&pointer);
  if (strcmp(kind, "pointer") == 0 && !other) musubi_barrier();
}

int main(int argc, char** argv) {
  int value = 0;
  if (musubi_allreduce(&value, 1, MUSUBI_INT32, MUSUBI_SUM) != MUSUBI_ERROR_STATE ||
      musubi_reduce(&value, 1, MUSUBI_INT32, MUSUBI_SUM, 0) != MUSUBI_ERROR_STATE ||
      musubi_broadcast_values(&value, 4, 0) != MUSUBI_ERROR_STATE) {
    return 98;
  }
  static const struct test_case cases[] = {{"types_and_operations", types_and_operations},
                                           {"order_of_sums", order_of_sums},
                                           {"large", large},
                                           {"one_after_the_other", one_after_the_other},
                                           {"refused", refused}};
  text_of_case = join_job(argc, argv);
  if (strncmp(text_of_case, "mismatch_", strlen("mismatch_")) == 0) {
    mismatch();
  } else if (!run_case(text_of_case, cases, sizeof cases / sizeof cases[0])) {
    return 96;
  }
  return musubi_finalize(0);
}
