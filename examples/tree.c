// A search tree linked by pointers: nodes are allocated inside parallel regions by different threads, linked
// under locks, walked and freed by threads other than those that allocated them.
// Usage: tree [keys]

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#define BRANCHES 16

struct node {
  unsigned key;
  int maker;
  struct node *left, *right;
};

struct totals {
  long count, sum, out_of_order, made_elsewhere;
};

static struct node* roots[BRANCHES];
static omp_lock_t branch_locks[BRANCHES];
static long nodes_linked;

// The multiplier is odd: the keys below a power of two are a permutation of the indices.
static unsigned key_of(unsigned index, unsigned keys) {
  return (index * 2654435761u) & (keys - 1);
}

static struct node* make_node(unsigned key) {
  struct node* node = malloc(sizeof *node);
  if (node == NULL) {
    fprintf(stderr, "tree: out of memory\n");
    exit(2);
  }
  *node = (struct node){key, omp_get_thread_num(), NULL, NULL};
  return node;
}

// Branch b holds an interval of keys, so that the branches read in order give all keys in order.
static void insert(struct node* node, unsigned keys) {
  const unsigned branch = node->key / (keys / BRANCHES);
  omp_set_lock(&branch_locks[branch]);
  struct node** link = &roots[branch];
  while (*link != NULL) link = node->key < (*link)->key ? &(*link)->left : &(*link)->right;
  *link = node;
  omp_unset_lock(&branch_locks[branch]);
#pragma omp critical(count_nodes)
  nodes_linked++;
}

static void build(unsigned keys) {
#pragma omp parallel for schedule(dynamic, 64)
  for (unsigned i = 0; i < keys; i++) insert(make_node(key_of(i, keys)), keys);
}

static void walk(const struct node* node, long* last_key, struct totals* totals) {
  if (node == NULL) return;
  walk(node->left, last_key, totals);
  totals->count++;
  totals->sum += node->key;
  totals->out_of_order += (long)node->key != *last_key + 1;
  totals->made_elsewhere += node->maker != omp_get_thread_num();
  *last_key = node->key;
  walk(node->right, last_key, totals);
}

// Frees the even keys of a branch and links the odd ones into a list in front of `rest`.
static struct node* keep_odd(struct node* node, struct node** rest) {
  if (node == NULL) return *rest;
  keep_odd(node->right, rest);
  struct node* left = node->left;
  if (node->key % 2 == 1) {
    node->left = NULL;
    node->right = *rest;
    *rest = node;
  } else {
    free(node);
  }
  return keep_odd(left, rest);
}

static long free_list(struct node* node) {
  long freed = 0;
  while (node != NULL) {
    struct node* next = node->right;
    free(node);
    node = next;
    freed++;
  }
  return freed;
}

int main(int argc, char** argv) {
  unsigned keys = BRANCHES;
  const int wanted = argc > 1 ? atoi(argv[1]) : 16384;
  while (wanted > 0 && keys < (unsigned)wanted && keys < 1u << 20) keys *= 2;
  for (int i = 0; i < BRANCHES; i++) omp_init_lock(&branch_locks[i]);

  const double start = omp_get_wtime();
  build(keys);
  struct totals all = {0, 0, 0, 0};
#pragma omp parallel for schedule(static, 1)
  for (int branch = 0; branch < BRANCHES; branch++) {
    struct totals part = {0, 0, 0, 0};
    long last_key = (long)branch * (keys / BRANCHES) - 1;
    walk(roots[branch], &last_key, &part);
#pragma omp critical(add_totals)
    {
      all.count += part.count;
      all.sum += part.sum;
      all.out_of_order += part.out_of_order;
      all.made_elsewhere += part.made_elsewhere;
    }
  }

  long odd = 0;
#pragma omp parallel for schedule(dynamic, 1)
  for (int branch = BRANCHES - 1; branch >= 0; branch--) {
    struct node* rest = NULL;
    roots[branch] = keep_odd(roots[branch], &rest);
  }
#pragma omp parallel for schedule(static, 3) reduction(+ : odd)
  for (int branch = 0; branch < BRANCHES; branch++) {
    for (const struct node* node = roots[branch]; node != NULL; node = node->right) odd += node->key % 2;
  }
  long freed = 0;
#pragma omp parallel for schedule(static, 5) reduction(+ : freed)
  for (int branch = 0; branch < BRANCHES; branch++) freed += free_list(roots[branch]);
  const double seconds = omp_get_wtime() - start;

  for (int i = 0; i < BRANCHES; i++) omp_destroy_lock(&branch_locks[i]);
  const long expected = (long)keys * (keys - 1) / 2;
  const int verified = nodes_linked == keys && all.count == keys && all.sum == expected &&
                       all.out_of_order == 0 && odd == keys / 2 && freed == keys / 2;
  printf("tree: %u keys, %d threads, %ld nodes walked by another thread than their maker\n", keys,
         omp_get_max_threads(), all.made_elsewhere);
  printf("linked %ld, walked %ld, sum %ld of %ld, out of order %ld, freed %ld\n", nodes_linked, all.count,
         all.sum, expected, all.out_of_order, freed);
  printf("VERIFICATION %s\n", verified ? "SUCCESSFUL" : "FAILED");
  printf("time %.6f s\n", seconds);
  return verified ? 0 : 1;
}
