/* All of Musubi's interfaces in one program: shared memory, a global heap, relocatable pages, SMS. The
 * ranks sort the numbers of a shared array into classes.
 *
 *   musubi run -n 4 together
 */
#include <musubi/gas.h>
#include <musubi/gheap.h>
#include <musubi/musubi.h>
#include <musubi/sms.h>
#include <stdio.h>
#include <stdlib.h>

enum { numbers = 100000, classes = 64, heap_bytes = 1 << 20, page_bytes = 4096 };
enum { board_lock = 7, all_are_there = 3 };

struct letter {
  long next;
  int from;
  long largest;
};
struct board {
  int ranks_done;
  long largest;
};

static int rank, ranks;

static void require(int holds, const char* why) {
  if (!holds) musubi_abort(1, why);
}
static void require_pages(int result) {
  require(result >= 0, gas_error_text(gas_error()));
}
static void require_heap(int holds) {
  require(holds, musubi_gerror_text(musubi_gerror()));
}

/* Shared memory: each rank writes every ranks-th number, then reads a part that all have written. */
static long fill_and_find_largest(long* array, int* begin, int* end) {
  long largest = 0;
  for (int i = rank; i < numbers; i += ranks) array[i] = (long)i * 7919 % 104729;
  require(musubi_barrier() == MUSUBI_OK, "no barrier");
  *begin = numbers / ranks * rank;
  *end = rank == ranks - 1 ? numbers : *begin + numbers / ranks;
  for (int i = *begin; i < *end; ++i) {
    if (array[i] > largest) largest = array[i];
  }
  return largest;
}

/* Global pages: every rank counts; the last rank brings the counts to itself and adds them up. */
static void count_classes(const long* array, int begin, int end) {
  const gas_address counts = gas_alloc(classes * sizeof(uint64_t), page_bytes, 0);
  if (counts == 0) require_pages(-1);
  for (int i = begin; i < end; ++i) {
    require_pages(gas_fetch_add(counts + (gas_address)(array[i] % classes) * sizeof(uint64_t), 1, NULL));
  }
  require(musubi_barrier() == MUSUBI_OK, "no barrier");
  if (rank == ranks - 1) {
    uint64_t all[classes], sum = 0;
    require_pages(gas_own(counts, sizeof all));
    require_pages(gas_get(counts, all, sizeof all));
    for (int i = 0; i < classes; ++i) sum += all[i];
    require(sum == numbers && gas_where(counts) == rank, "the counts are wrong");
  }
  require_pages(gas_free(counts));
}

/* The global heap: each rank leaves a letter at the next rank; offset 0 holds the place of the last
   letter. */
static void send_letter(long largest) {
  const int to = (rank + 1) % ranks;
  const struct letter letter = {0, rank, largest};
  const long place = musubi_galloc(to, sizeof letter);
  require_heap(place > 0);
  require_heap(musubi_gput(to, place, &letter, sizeof letter) == 0);
  require_heap(musubi_gput(to, 0, &place, sizeof place) == 0);
}
static long read_letter(void) {
  const long place = *(const long*)musubi_gaddress(rank, 0);
  const struct letter letter = *(const struct letter*)musubi_gaddress(rank, place);
  require(letter.from == (rank + ranks - 1) % ranks, "the letter is from somebody else");
  require_heap(musubi_gfree(rank, place) == 0);
  return letter.largest;
}

/* SMS: the board is bound to the lock; no rank goes on before all ranks have written to the board. */
static long agree(struct board* board, long largest) {
  sms_lock(board_lock);
  if (largest > board->largest) board->largest = largest;
  ++board->ranks_done;
  if (board->ranks_done == ranks) sms_cond_broadcast(all_are_there);
  while (board->ranks_done < ranks) sms_cond_wait(all_are_there, board_lock);
  largest = board->largest;
  sms_unlock(board_lock);
  return largest;
}

int main(int argc, char** argv) {
  if (musubi_init(&argc, &argv) != MUSUBI_OK) return EXIT_FAILURE;
  rank = musubi_rank();
  ranks = musubi_size();
  sms_startup(argc, argv);
  require_heap(ginit(heap_bytes) == 0 && sgbrk(rank, sizeof(long)) == 0);
  struct board* const board = sms_alloc(sizeof *board, 0);
  const musubi_attributes defaults = {0, 0, 0, 0, 0, 0, 0};
  void* array = NULL;
  require(musubi_alloc_with(&defaults, numbers * sizeof(long), &array) == MUSUBI_OK, "no shared memory");

  int begin = 0, end = 0;
  const long largest = fill_and_find_largest(array, &begin, &end);
  count_classes(array, begin, end);
  send_letter(largest);
  sms_barrier(0);
  const long of_all = agree(board, read_letter());
  sms_barrier(0);

  long expected = 0;
  for (int i = 0; i < numbers; ++i) {
    if (((const long*)array)[i] > expected) expected = ((const long*)array)[i];
  }
  const int right = of_all == expected && board->ranks_done == ranks;
  if (rank == 0) printf("the largest number is %ld, %s\n", of_all, right ? "as it should" : "WRONG");
  require(musubi_free_with(array) == MUSUBI_OK, "the array is not freed");
  sms_shutdown();
  musubi_finalize(right ? EXIT_SUCCESS : EXIT_FAILURE);
  return EXIT_SUCCESS;
}
