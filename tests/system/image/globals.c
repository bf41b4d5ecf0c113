// Static data of every kind, written by one thread and read by other threads.
#include <math.h>
#include <omp.h>
#include <string.h>

#include "check.h"

int initialised = 41;
int zero;
static double array[100000];
const char* message = "first";
static double (*function)(double) = sin;
static int twice(int value) {
  return 2 * value;
}
static int (*own_function)(int);
struct node {
  struct node* next;
  int value;
} nodes[3] = {{&nodes[1], 1}, {&nodes[2], 2}, {NULL, 3}};

static int count_calls(void) {
  static int calls = 100;
  return ++calls;
}

int main(void) {
  initialised++;
  own_function = twice;
  function = cos;
  message = "second";
  for (int i = 0; i < 100000; i++) array[i] = i;
  int threads = 0;
#pragma omp parallel
  {
    const int self = omp_get_thread_num();
#pragma omp single
    threads = omp_get_num_threads();
    CHECK(initialised == 42);
    CHECK(own_function(21) == 42);
    CHECK(function(0.0) == 1.0);
    CHECK(strcmp(message, "second") == 0);
    CHECK(nodes[0].next->next->value == 3);
#pragma omp for
    for (int i = 0; i < 100000; i++) array[i] = 2 * array[i] + 1;
    for (int i = 0; i < 100000; i += 997) CHECK(array[i] == 2.0 * i + 1);
#pragma omp critical
    {
      zero += self + 1;
      count_calls();
    }
  }
  CHECK(zero == threads * (threads + 1) / 2);
  CHECK(count_calls() == 100 + threads + 1);
  printf("globals: passed\n");
  return 0;
}
