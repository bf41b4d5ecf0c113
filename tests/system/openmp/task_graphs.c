// Random graphs of tasks by `depend` clauses of every kind: each task runs once, after the tasks on which it
// depends, finds what they wrote, and excludes those that exclude it.
#include <time.h>

#include "check.h"

enum { variables = 6, tasks = 120, rounds = 8, kinds = 4 };
enum kind { in, out, mutex, depend_object };

struct access {
  int variable;
  enum kind kind;
};
struct task {
  struct access accesses[2];
  int ran;
};

static struct task graph[tasks];
static char words[variables];   // stand for the variables in the clauses
static int version[variables];  // of a variable: the tasks that have written it
static int expected[tasks][2];  // versions that a task finds
static unsigned state;

static int draw(int below) {
  state = state * 1103515245 + 12345;
  return (int)(state >> 16) % below;
}

static int writes(enum kind kind) {
  return kind != in;
}

static void make_graph(unsigned seed) {
  int next[variables] = {0};
  state = seed;
  for (int i = 0; i < tasks; ++i) {
    const int first = draw(variables);
    graph[i] = (struct task){
        {{first, draw(kinds)}, {(first + 1 + draw(variables - 1)) % variables, draw(kinds)}}, 0};
    for (int k = 0; k < 2; ++k) {
      const struct access access = graph[i].accesses[k];
      expected[i][k] = next[access.variable];
      next[access.variable] += writes(access.kind);
    }
  }
}

// Members of a set exclude each other, and may run in any order.
static int belongs_to_same_set(int one, int other, int variable) {
  const int low = one < other ? one : other, high = one < other ? other : one;
  for (int i = low; i <= high; ++i) {
    for (int k = 0; k < 2; ++k) {
      const struct access access = graph[i].accesses[k];
      if (access.variable == variable && access.kind != mutex) return 0;
    }
  }
  return 1;
}

static void run(int number) {
  if (number % 16 == 0) {
    const struct timespec moment = {0, 50000};
    nanosleep(&moment, NULL);
  }
  for (int k = 0; k < 2; ++k) {
    const struct access access = graph[number].accesses[k];
    const int found = version[access.variable];
    int right = found == expected[number][k];
    for (int i = 0; !right && i < tasks; ++i) {
      for (int j = 0; j < 2; ++j) {
        if (graph[i].accesses[j].variable == access.variable && expected[i][j] == found &&
            access.kind == mutex)
          right = right || belongs_to_same_set(number, i, access.variable);
      }
    }
    CHECK(right);
    if (writes(access.kind)) version[access.variable] = found + 1;
  }
  graph[number].ran++;
}

static void make_task(int i, omp_depend_t* objects) {
  const struct access a = graph[i].accesses[0], b = graph[i].accesses[1];
  char *x = &words[a.variable], *y = &words[b.variable];
  omp_depend_t *p = &objects[a.variable], *q = &objects[b.variable];
  switch (a.kind * kinds + b.kind) {
    case in* kinds + in:
#pragma omp task firstprivate(i) depend(in : *x, *y)
      run(i);
      break;
    case in* kinds + out:
#pragma omp task firstprivate(i) depend(in : *x) depend(out : *y)
      run(i);
      break;
    case in* kinds + mutex:
#pragma omp task firstprivate(i) depend(in : *x) depend(mutexinoutset : *y)
      run(i);
      break;
    case in* kinds + depend_object:
#pragma omp task firstprivate(i) depend(in : *x) depend(depobj : *q)
      run(i);
      break;
    case out* kinds + in:
#pragma omp task firstprivate(i) depend(inout : *x) depend(in : *y)
      run(i);
      break;
    case out* kinds + out:
#pragma omp task firstprivate(i) depend(out : *x) depend(inout : *y)
      run(i);
      break;
    case out* kinds + mutex:
#pragma omp task firstprivate(i) depend(out : *x) depend(mutexinoutset : *y)
      run(i);
      break;
    case out* kinds + depend_object:
#pragma omp task firstprivate(i) depend(out : *x) depend(depobj : *q)
      run(i);
      break;
    case mutex* kinds + in:
#pragma omp task firstprivate(i) depend(mutexinoutset : *x) depend(in : *y)
      run(i);
      break;
    case mutex* kinds + out:
#pragma omp task firstprivate(i) depend(mutexinoutset : *x) depend(out : *y)
      run(i);
      break;
    case mutex* kinds + mutex:
#pragma omp task firstprivate(i) depend(mutexinoutset : *x, *y)
      run(i);
      break;
    case mutex* kinds + depend_object:
#pragma omp task firstprivate(i) depend(mutexinoutset : *x) depend(depobj : *q)
      run(i);
      break;
    case depend_object* kinds + in:
#pragma omp task firstprivate(i) depend(depobj : *p) depend(in : *y)
      run(i);
      break;
    case depend_object* kinds + out:
#pragma omp task firstprivate(i) depend(depobj : *p) depend(out : *y)
      run(i);
      break;
    case depend_object* kinds + mutex:
#pragma omp task firstprivate(i) depend(depobj : *p) depend(mutexinoutset : *y)
      run(i);
      break;
    default:
#pragma omp task firstprivate(i) depend(depobj : *p, *q)
      run(i);
  }
}

// An undeferred task and a wait, in the middle, see the last writers.
static void check_in_the_middle(int made) {
  int writers = 0;
  for (int i = 0; i < made; ++i) {
    for (int k = 0; k < 2; ++k)
      writers += graph[i].accesses[k].variable == 0 && writes(graph[i].accesses[k].kind);
  }
#pragma omp task if (0) depend(in : words[0])
  CHECK(version[0] == writers);
#pragma omp taskwait depend(inout : words[0])
  CHECK(version[0] == writers);
}

static void run_graph(unsigned seed) {
  make_graph(seed);
  memset(version, 0, sizeof version);
#pragma omp parallel
#pragma omp single
  {
    omp_depend_t objects[variables];
    for (int i = 0; i < variables; ++i) {
#pragma omp depobj(objects[i]) depend(inout : words[i])
    }
    for (int i = 0; i < tasks; ++i) {
      make_task(i, objects);
      if (i == tasks / 2) check_in_the_middle(i + 1);
    }
#pragma omp task depend(iterator(i = 0 : variables), inout : words[i])
    for (int i = 0; i < tasks; ++i) CHECK(graph[i].ran == 1);
#pragma omp taskwait
    for (int i = 0; i < variables; ++i) {
#pragma omp depobj(objects[i]) destroy
    }
  }
  for (int i = 0; i < tasks; ++i) CHECK(graph[i].ran == 1);
}

int main(void) {
  for (unsigned seed = 1; seed <= rounds; ++seed) run_graph(seed);
  puts("task_graphs: passed");
  return 0;
}
