/* Explicit shared memory: every rank runs main() of its own, and only memory of musubi_alloc is shared.
 *
 * The ranks form a ring of cells. In each step a rank adds its left neighbour's cell to its own; in
 * addition they count with an atomic word, and build one list out of memory that each of them allocated.
 *
 *   musubi run -n 4 spmd_ring
 */
#include <musubi/musubi.h>
#include <stdio.h>
#include <stdlib.h>

enum { step_count = 20, list_lock = 0 };

struct node {
  int rank;
  struct node* next;
};

struct world {
  uint64_t additions;    /* atomic */
  struct node* list;     /* under list_lock */
  uint64_t cells[2][64]; /* the cells before and after a step; one writer each */
};

static void require(int result) {
  if (result != MUSUBI_OK) musubi_abort(1, musubi_error_text(result));
}

/* The expected cells after all steps, computed without sharing. */
static uint64_t expected_cell(int rank, int ranks) {
  uint64_t cells[64], next[64];
  for (int i = 0; i < ranks; ++i) cells[i] = (uint64_t)i + 1;
  for (int step = 0; step < step_count; ++step) {
    for (int i = 0; i < ranks; ++i) next[i] = cells[i] + cells[(i + ranks - 1) % ranks];
    for (int i = 0; i < ranks; ++i) cells[i] = next[i];
  }
  return cells[rank];
}

static void walk_the_ring(struct world* world, int rank, int ranks) {
  world->cells[0][rank] = (uint64_t)rank + 1;
  require(musubi_barrier());
  for (int step = 0; step < step_count; ++step) {
    const uint64_t* before = world->cells[step % 2];
    uint64_t* after = world->cells[(step + 1) % 2];
    after[rank] = before[rank] + before[(rank + ranks - 1) % ranks];
    require(musubi_atomic_fetch_add_64(&world->additions, 1, NULL));
    require(musubi_barrier());
  }
}

/* Adds memory of this rank to the list that all ranks build. */
static void join_the_list(struct world* world, int rank) {
  struct node* node = musubi_alloc(sizeof *node);
  if (node == NULL) musubi_abort(1, "no shared memory left");
  node->rank = rank;
  require(musubi_lock(list_lock));
  node->next = world->list;
  world->list = node;
  require(musubi_unlock(list_lock));
}

/* The sum of the ranks in the list, which must contain each once. */
static int sum_of_list(const struct world* world) {
  int sum = 0;
  for (const struct node* node = world->list; node != NULL; node = node->next) sum += node->rank;
  return sum;
}

int main(int argc, char** argv) {
  require(musubi_init(&argc, &argv));
  const int rank = musubi_rank(), ranks = musubi_size();
  if (ranks > 64) musubi_abort(2, "this example has 64 cells: run it with at most 64 ranks");

  struct world* world = NULL;
  if (rank == 0) {
    world = musubi_alloc(sizeof *world);
    if (world == NULL) musubi_abort(1, "no shared memory left");
    world->additions = 0;
    world->list = NULL;
  }
  require(musubi_broadcast((void**)&world));

  walk_the_ring(world, rank, ranks);
  join_the_list(world, rank);
  require(musubi_barrier());

  uint64_t additions = 0;
  require(musubi_atomic_load_64(&world->additions, &additions));
  const int correct = world->cells[step_count % 2][rank] == expected_cell(rank, ranks) &&
                      additions == (uint64_t)ranks * step_count &&
                      sum_of_list(world) == ranks * (ranks - 1) / 2;
  printf("rank %d of %d: cell %llu, %llu additions, %s\n", rank, ranks,
         (unsigned long long)world->cells[step_count % 2][rank], (unsigned long long)additions,
         correct ? "correct" : "WRONG");

  require(musubi_barrier());
  if (rank == ranks - 1) { /* frees the memory of all ranks */
    for (struct node* node = world->list; node != NULL;) {
      struct node* next = node->next;
      require(musubi_free(node));
      node = next;
    }
    require(musubi_free(world));
  }
  musubi_finalize(correct ? EXIT_SUCCESS : EXIT_FAILURE);
  return correct ? EXIT_SUCCESS : EXIT_FAILURE;
}
