#include "library_data.h"

#include <omp.h>

#include <atomic>
#include <vector>

extern "C" {
extern int program_value;
int library_exported[library_exported_elements] = {1};
int* library_pointer = &program_value;
}

namespace {

double array[library_elements];
long counter;
long* where = &counter;
std::atomic<long> counter_object{0};
int constructed;
int (*functions[2])(int);
int threads_seen;

int twice(int value) {
  return 2 * value;
}
int thrice(int value) {
  return 3 * value;
}

struct Registry {
  Registry() : values(5000, 7) {
    ++constructed;
    functions[0] = twice;
    functions[1] = thrice;
  }
  std::vector<int> values;
};
Registry registry;

__attribute__((constructor)) void count_constructor() {
  ++constructed;
}

}  // namespace

void library_fill(double factor) {
#pragma omp parallel for
  for (int i = 0; i < library_elements; ++i) array[i] = factor * i;
}

double library_sum() {
  double sum = 0;
  for (double element : array) sum += element;
  return sum;
}

double* library_array() {
  return array;
}

void library_count(int times) {
#pragma omp parallel for
  for (int i = 0; i < times; ++i) {
#pragma omp atomic
    ++*where;
    counter_object.fetch_add(2);
#pragma omp critical
    threads_seen |= 1 << (omp_get_thread_num() & 15);
  }
}

long library_counted() {
  return counter;
}
long library_counted_by_object() {
  return counter_object.load();
}
int library_constructed() {
  return constructed;
}
int library_call(int index, int value) {
  return functions[index](value);
}

int* library_registry(int* count) {
  *count = static_cast<int>(registry.values.size());
  return registry.values.data();
}

long library_sum_exported() {
  long sum = 0;
  for (int value : library_exported) sum += value;
  return sum;
}

int library_threads_seen() {
  return threads_seen;
}
