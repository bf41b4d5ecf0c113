// One construct after the other, small, as each compiler translates it: for programs that are built by
// several compilers and with several levels of optimisation.
#include "check.h"

enum { count = 1000 };
static int numbers[count], marks[count];
static int own = 7;
#pragma omp threadprivate(own)
static int threads;

static void regions(void) {
  int members = 0;
#pragma omp parallel reduction(+ : members)
  members += 1;
  CHECK(members == omp_get_max_threads());
  threads = members;
#pragma omp parallel if (0)
  CHECK(omp_get_num_threads() == 1);
#pragma omp parallel num_threads(3)
  CHECK(omp_get_num_threads() == 3);
#pragma omp parallel
  CHECK(omp_get_num_threads() == threads);
  own = 5;
  int mistakes = 0;
#pragma omp parallel copyin(own) reduction(+ : mistakes)
  {
    mistakes += own != 5;
    own = omp_get_thread_num();
  }
#pragma omp parallel reduction(+ : mistakes)
  mistakes += own != omp_get_thread_num();
  CHECK(mistakes == 0);
}

static void many_captured_variables(void) {
  long a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, i = 9, j = 10, k = 11, l = 12, m = 13, n = 14,
       o = 15, p = 16, q = 17, r = 18, s = 19, t = 20;
  long sum = 0;
#pragma omp parallel firstprivate(a, c, e, g, i, k, m, o, q, s) reduction(+ : sum)
  sum += a + b + c + d + e + f + g + h + i + j + k + l + m + n + o + p + q + r + s + t;
  CHECK(sum == 210L * threads);
}

static void static_loops(void) {
  long sum = 0;
#pragma omp parallel for
  for (int i = 0; i < count; ++i) numbers[i] = i;
#pragma omp parallel for schedule(static, 7) reduction(+ : sum)
  for (unsigned i = 0; i < count; i += 3) sum += numbers[i];
  CHECK(sum == 166833);
  int last = -1;
#pragma omp parallel for lastprivate(last) schedule(static, 16)
  for (long i = count - 1; i >= 0; i -= 5) last = (int)i;
  CHECK(last == 4);
  int cells = 0;
#pragma omp parallel for collapse(2) reduction(+ : cells)
  for (int i = 0; i < 13; ++i)
    for (unsigned char j = 250; j < 255; ++j) cells += i >= 0;
  CHECK(cells == 65);
  // At the ends of the types.
  int ends = 0;
#pragma omp parallel for reduction(+ : ends)
  for (int i = 2147483640; i < 2147483647; ++i) ends += i > 0;
#pragma omp parallel for reduction(+ : ends) schedule(static, 1)
  for (unsigned long i = 18446744073709551610ul; i < 18446744073709551615ul; ++i) ends += i > 0;
#pragma omp parallel for reduction(+ : ends)
  for (int i = 5; i < -5; ++i) ends += 1000;
  CHECK(ends == 12);
}

static void dynamic_loops(void) {
  long sum = 0;
#pragma omp parallel for schedule(dynamic, 3) reduction(+ : sum)
  for (int i = 0; i < count; ++i) sum += numbers[i];
  CHECK(sum == 499500);
  memset(marks, 0, sizeof marks);
#pragma omp parallel for schedule(guided, 2)
  for (long i = count - 1; i >= 0; i -= 2) marks[i] += 1;
#pragma omp parallel for schedule(runtime)
  for (unsigned long i = 0; i < count; i += 2) marks[i] += 1;
  for (int i = 0; i < count; ++i) CHECK(marks[i] == 1);
  int last = -1;
#pragma omp parallel
#pragma omp for schedule(monotonic : dynamic) lastprivate(last) nowait
  for (int i = -20; i < 20; ++i) last = i;
  CHECK(last == 19);
  int order = 0, mistakes = 0;
#pragma omp parallel for ordered schedule(dynamic)
  for (int i = 0; i < 60; ++i) {
#pragma omp ordered
    {
      mistakes += order != i;
      ++order;
    }
  }
#pragma omp parallel for ordered schedule(static, 2)
  for (int i = 0; i < 60; ++i) {
#pragma omp ordered
    {
      mistakes += order != i + 60;
      ++order;
    }
  }
  CHECK(mistakes == 0 && order == 120);
}

static void meetings(void) {
  int mistakes = 0, value = 0, sum = 0, passes = 0, singles = 0;
#pragma omp parallel firstprivate(value) reduction(+ : mistakes)
  {
#pragma omp single copyprivate(value)
    value = 42;
    mistakes += value != 42;
#pragma omp critical
    ++sum;
#pragma omp critical(other)
    ++passes;
#pragma omp barrier
    mistakes += sum != threads;
#pragma omp atomic
    ++passes;
#pragma omp single nowait
    ++singles;
#pragma omp flush
#pragma omp barrier
#pragma omp master
    ++singles;
#pragma omp masked filter(0)
    ++singles;
  }
  CHECK(mistakes == 0 && passes == 2 * threads && singles == 3);
  int parts[3] = {0};
#pragma omp parallel sections
  {
#pragma omp section
    parts[0] = 1;
#pragma omp section
    parts[1] = 2;
#pragma omp section
    parts[2] = 3;
  }
  CHECK(parts[0] == 1 && parts[1] == 2 && parts[2] == 3);
}

static void reductions(void) {
  int sum = 0, bits = 0, all = 1, largest = -1;
  double product = 1;
  long array[5] = {0};
#pragma omp parallel for reduction(+ : sum, array) reduction(| : bits) reduction(&& : all) \
    reduction(max : largest) reduction(* : product)
  for (int i = 0; i < 40; ++i) {
    sum += i;
    bits |= 1 << i % 20;
    all = all && i >= 0;
    if (i > largest) largest = i;
    if (i < 8) product *= 2;
    array[i % 5] += i;
  }
  CHECK(sum == 780 && bits == (1 << 20) - 1 && all && largest == 39 && product == 256);
  for (int i = 0; i < 5; ++i) CHECK(array[i] == 8 * i + 140);
#pragma omp parallel
#pragma omp for reduction(+ : sum) nowait
  for (int i = 0; i < 10; ++i) ++sum;
  CHECK(sum == 790);
}

static void nests(void) {
  static unsigned table[40][30];
#pragma omp parallel for ordered(2) schedule(static)
  for (int i = 1; i < 40; ++i)
    for (int j = 1; j < 30; ++j) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
      table[i][j] = table[i - 1][j] + table[i][j - 1] + 1;
#pragma omp ordered depend(source)
    }
  for (int i = 1; i < 40; ++i)
    for (int j = 1; j < 30; ++j) CHECK(table[i][j] == table[i - 1][j] + table[i][j - 1] + 1);
  static int chain[3000];
#pragma omp parallel for ordered(1) schedule(static, 1)
  for (int i = 1; i < 3000; ++i) {
#pragma omp ordered depend(sink : i - 1)
    chain[i] = chain[i - 1] + 1;
#pragma omp ordered depend(source)
  }
  CHECK(chain[2999] == 2999);
}

static void leagues(void) {
  int sum = 0;
#pragma omp teams num_teams(2) reduction(+ : sum)
  sum += omp_get_team_num() + 1;
  CHECK(sum == 3);
  long total = 0;
#pragma omp teams distribute parallel for num_teams(2) reduction(+ : total)
  for (int i = 0; i < count; ++i) total += i;
#pragma omp teams distribute parallel for num_teams(2) reduction(+ : total) dist_schedule(static, 50) \
    schedule(dynamic, 4)
  for (int i = 0; i < count; ++i) total += i;
  CHECK(total == 999000);
}

static void locks(void) {
  // The variable has 8 bytes for some compilers.
  struct {
    omp_nest_lock_t lock;
    long after;
  } nest;
  nest.after = 1234;
  omp_init_nest_lock(&nest.lock);
  omp_lock_t lock;
  omp_init_lock(&lock);
  int sum = 0, twice = 0;
#pragma omp parallel
  {
    omp_set_lock(&lock);
    ++sum;
    omp_unset_lock(&lock);
    omp_set_nest_lock(&nest.lock);
    omp_set_nest_lock(&nest.lock);
    ++twice;
    omp_unset_nest_lock(&nest.lock);
    omp_unset_nest_lock(&nest.lock);
  }
  CHECK(sum == threads && twice == threads && nest.after == 1234);
  omp_destroy_lock(&lock);
  omp_destroy_nest_lock(&nest.lock);
}

static void memory(void) {
  omp_alloctrait_t traits[] = {{omp_atk_alignment, 256}};
  const omp_allocator_handle_t allocator = omp_init_allocator(omp_default_mem_space, 1, traits);
  int mistakes = 0;
#pragma omp parallel reduction(+ : mistakes)
  {
    char* bytes = omp_alloc(100, allocator);
    mistakes += bytes == NULL || (size_t)bytes % 256 != 0;
    omp_free(bytes, allocator);
  }
  CHECK(mistakes == 0);
  omp_destroy_allocator(allocator);
}

static void targets(void) {
  int sum = 0;
#pragma omp target teams distribute parallel for map(tofrom : sum) reduction(+ : sum)
  for (int i = 0; i < 100; ++i) sum += i;
#pragma omp target data map(tofrom : sum)
  {
#pragma omp target map(tofrom : sum)
    sum += 1;
  }
  CHECK(sum == 4951);
}

int main(void) {
  regions();
  many_captured_variables();
  static_loops();
  dynamic_loops();
  meetings();
  reductions();
  nests();
  leagues();
  locks();
  memory();
  targets();
  puts("verified");
  return 0;
}
