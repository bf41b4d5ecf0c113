// A library with OpenMP inside: its static data exist once in the job, whichever thread uses them.
#include "library_data.h"

#include <omp.h>

#include "check.h"

int program_value = 3;

static void check_arrays(void) {
  const double sum = (double)library_elements * (library_elements - 1) / 2;
  for (int round = 1; round <= 3; ++round) {
    library_fill(round);
    CHECK(library_sum() == round * sum);
  }
#pragma omp parallel for
  for (int i = 0; i < library_elements; ++i) library_array()[i] += 1;
  CHECK(library_sum() == 3 * sum + library_elements);
}

static void check_atomics(void) {
  library_count(1000);
  CHECK(library_counted() == 1000);
  CHECK(library_counted_by_object() == 2000);
  CHECK(library_threads_seen() == (1 << omp_get_max_threads()) - 1);
}

static void check_constructors(void) {
  CHECK(library_constructed() == 2);
  int wrong = 0;
#pragma omp parallel reduction(+ : wrong)
  {
    const int own = omp_get_thread_num();
    wrong += library_call(0, own) != 2 * own;
    wrong += library_call(1, own) != 3 * own;
    wrong += library_constructed() != 2;
  }
  CHECK(wrong == 0);
}

static void check_memory_of_constructors(void) {
  int count;
  int* const values = library_registry(&count);
  CHECK(count == 5000);
#pragma omp parallel for
  for (int i = 0; i < count; ++i) values[i] += i;
  for (int i = 0; i < count; ++i) CHECK(values[i] == 7 + i);
}

static void check_pointers_between(void) {
  CHECK(library_sum_exported() == 1);
#pragma omp parallel for
  for (int i = 0; i < library_exported_elements; ++i) library_exported[i] += i;
  CHECK(library_sum_exported() == 1 + (long)library_exported_elements * (library_exported_elements - 1) / 2);
#pragma omp parallel
  {
#pragma omp critical
    *library_pointer += 1;
  }
  CHECK(program_value == 3 + omp_get_max_threads());
}

int main(void) {
  check_arrays();
  check_atomics();
  check_constructors();
  check_memory_of_constructors();
  check_pointers_between();
  puts("library_data: passed");
  return 0;
}
