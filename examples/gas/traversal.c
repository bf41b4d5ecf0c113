/* Breadth-first traversals of a graph in global pages. The graph has a community for each rank; in turn,
 * each rank traverses each community several times, from different roots.
 *
 *   musubi run -n 4 traversal [traversals in a turn]
 *
 * Does the same in the three ways of lines.h and verifies the distances each time.
 */
#include <musubi/musubi.h>
#include <stdio.h>
#include <stdlib.h>

#include "lines.h"

enum { vertices = 4096, edges = 12, page_bytes = 65536 };

/* A vertex is a line: its neighbours, two to a word, then the last traversal that reached it, then its
 * distance from the root in that traversal. */
enum { word_of_traversal = edges / 2, word_of_distance };

static int rank, ranks;

static uint64_t neighbour(const struct line* vertex, int edge) {
  return vertex->words[edge / 2] >> (edge % 2 * 32) & UINT32_MAX;
}

/* Vertex `index` of a community, as generated: not yet reached by any traversal. */
static struct line make_vertex(int community, size_t index) {
  uint64_t state = (uint64_t)community * vertices + index;
  struct line vertex = {{0}};
  for (int i = 0; i < edges; ++i) {
    vertex.words[i / 2] |= lines_random(&state) % vertices << (i % 2 * 32);
  }
  return vertex;
}

/* Result: the sum of the distances of all vertices that can be reached. */
static uint64_t traverse(struct lines* lines, uint32_t* queue, uint64_t number, uint64_t root) {
  size_t taken = 0, reached = 0;
  uint64_t sum = 0;
  struct line vertex = lines_read(lines, root);
  vertex.words[word_of_traversal] = number;
  vertex.words[word_of_distance] = 0;
  lines_write(lines, root, &vertex);
  for (queue[reached++] = (uint32_t)root; taken < reached; ++taken) {
    vertex = lines_read(lines, queue[taken]);
    for (int i = 0; i < edges; ++i) {
      const uint64_t index = neighbour(&vertex, i);
      struct line next = lines_read(lines, index);
      if (next.words[word_of_traversal] == number) continue;
      next.words[word_of_traversal] = number;
      next.words[word_of_distance] = vertex.words[word_of_distance] + 1;
      sum += next.words[word_of_distance];
      lines_write(lines, index, &next);
      queue[reached++] = (uint32_t)index;
    }
  }
  return sum;
}

/* The same in this rank's own memory. */
static uint64_t traverse_alone(int community, uint32_t* queue, uint64_t root) {
  uint32_t* const distance = calloc(vertices, sizeof *distance); /* plus 1 */
  if (distance == NULL) musubi_abort(1, "no memory to verify the distances");
  size_t taken = 0, reached = 0;
  uint64_t sum = 0;
  distance[root] = 1;
  for (queue[reached++] = (uint32_t)root; taken < reached; ++taken) {
    const struct line vertex = make_vertex(community, queue[taken]);
    for (int i = 0; i < edges; ++i) {
      const uint64_t index = neighbour(&vertex, i);
      if (distance[index] != 0) continue;
      distance[index] = distance[queue[taken]] + 1;
      sum += distance[index] - 1;
      queue[reached++] = (uint32_t)index;
    }
  }
  free(distance);
  return sum;
}

static uint64_t root_of(int turn, long traversal) {
  uint64_t state = (uint64_t)(turn * 100003 + traversal);
  return lines_random(&state) % vertices;
}

static void fill(gas_address community) {
  for (size_t i = 0; i < vertices; ++i) {
    const struct line vertex = make_vertex(rank, i);
    lines_require(gas_put(community + i * sizeof vertex, &vertex, sizeof vertex));
  }
}

/* Result: whether all distances are right. */
static int traverse_all(enum way way, long traversals) {
  const size_t bytes = vertices * sizeof(struct line);
  const gas_address graph = gas_alloc((size_t)ranks * bytes, page_bytes, GAS_BLOCK);
  uint32_t* const queue = malloc(vertices * sizeof *queue);
  if (graph == 0) lines_require(-1);
  if (queue == NULL) musubi_abort(1, "no memory for the queue");
  struct lines* const lines = lines_make(way, page_bytes);
  fill(graph + (size_t)rank * bytes);
  musubi_barrier();
  const double start = lines_seconds();
  uint64_t sum = 0, expected = 0;
  for (int turn = 0; turn < ranks; ++turn) {
    const int community = (rank + turn) % ranks;
    lines_begin(lines, graph + (size_t)community * bytes, vertices, community);
    for (long i = 0; i < traversals; ++i) {
      const uint64_t number = (uint64_t)turn * (uint64_t)traversals + (uint64_t)i + 1;
      sum += traverse(lines, queue, number, root_of(turn, i));
    }
    musubi_barrier();
  }
  const double seconds = lines_seconds() - start;

  for (int turn = 0; turn < ranks; ++turn) {
    for (long i = 0; i < traversals; ++i) {
      expected += traverse_alone((rank + turn) % ranks, queue, root_of(turn, i));
    }
  }
  uint64_t remote = lines_remote(lines);
  musubi_allreduce(&remote, 1, MUSUBI_UINT64, MUSUBI_SUM);
  int right = sum == expected;
  musubi_allreduce(&right, 1, MUSUBI_INT32, MUSUBI_MIN);
  if (rank == 0) {
    printf("traversal_%s_time %.6f s\n", way_names[way], seconds);
    printf("traversal_%s_remote %.6f operations for each edge\n", way_names[way],
           (double)remote / ((double)traversals * ranks * ranks * vertices * edges));
  }
  free(queue);
  lines_free(lines);
  lines_require(gas_free(graph));
  return right;
}

int main(int argc, char** argv) {
  const long traversals = argc > 1 ? atol(argv[1]) : 10;
  if (traversals <= 0) {
    fprintf(stderr, "usage: traversal [traversals in a turn]\n");
    return EXIT_FAILURE;
  }
  if (musubi_init(&argc, &argv) != MUSUBI_OK) return EXIT_FAILURE;
  rank = musubi_rank();
  ranks = musubi_size();
  int right = 1;
  for (int way = 0; way < WAYS; ++way) right &= traverse_all((enum way)way, traversals);
  if (rank == 0) puts(right ? "VERIFICATION SUCCESSFUL" : "VERIFICATION FAILED");
  musubi_finalize(right ? EXIT_SUCCESS : EXIT_FAILURE);
  return EXIT_SUCCESS;
}
