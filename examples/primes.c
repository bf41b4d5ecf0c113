/* Counts primes: ranks take chunks of numbers in turn, and combine their results under a lock.
 *
 *   musubi run -n 4 primes
 *
 * docs/guide/tutorial.md builds this program step by step.
 */
#include <musubi/musubi.h>
#include <stdio.h>
#include <stdlib.h>

enum { limit = 200000, chunk = 1000, board_lock = 0 };
enum { expected_primes = 17984, expected_largest = 199999 };

struct board {
  uint64_t next;    /* atomic: the next number to test */
  uint64_t primes;  /* under board_lock */
  uint64_t largest; /* under board_lock */
};

static void require(int result) {
  if (result != MUSUBI_OK) musubi_abort(1, musubi_error_text(result));
}

static int is_prime(uint64_t number) {
  if (number < 2) return 0;
  for (uint64_t i = 2; i * i <= number; ++i) {
    if (number % i == 0) return 0;
  }
  return 1;
}

/* The first number of a chunk that no other rank has. */
static uint64_t take_chunk(struct board* board) {
  uint64_t begin = 0;
  require(musubi_atomic_fetch_add_64(&board->next, chunk, &begin));
  return begin;
}

static void count_primes(struct board* board) {
  uint64_t primes = 0, largest = 0;
  for (uint64_t begin = take_chunk(board); begin < limit; begin = take_chunk(board)) {
    for (uint64_t number = begin; number < begin + chunk; ++number) {
      if (!is_prime(number)) continue;
      ++primes;
      largest = number;
    }
  }
  require(musubi_lock(board_lock));
  board->primes += primes;
  if (largest > board->largest) board->largest = largest;
  require(musubi_unlock(board_lock));
}

int main(int argc, char** argv) {
  require(musubi_init(&argc, &argv));

  struct board* board = NULL;
  if (musubi_rank() == 0) {
    board = musubi_alloc(sizeof *board);
    if (board == NULL) musubi_abort(1, "no shared memory left");
    *board = (struct board){0, 0, 0};
  }
  require(musubi_broadcast((void**)&board));

  count_primes(board);
  require(musubi_barrier());

  const int correct = board->primes == expected_primes && board->largest == expected_largest;
  if (musubi_rank() == 0) {
    printf("%llu primes below %d, the largest %llu: %s\n", (unsigned long long)board->primes, limit,
           (unsigned long long)board->largest, correct ? "correct" : "WRONG");
  }

  require(musubi_barrier());
  if (musubi_rank() == 0) require(musubi_free(board));
  const int status = correct ? EXIT_SUCCESS : EXIT_FAILURE;
  require(musubi_finalize(status));
  return status;
}
