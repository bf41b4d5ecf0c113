// Reductions that the compiler describes by a function (LLVM's interface; by gcc the same program has atomic
// operations): several variables, arrays, classes, loops without a wait, teams that leave ranks idle.
#include <array>
#include <complex>
#include <string>
#include <vector>

#include "check.h"

namespace {

// Combines by a constructor, an operator and a destructor; keeps its parts in the heap.
class Bag {
 public:
  Bag() { ++alive(); }
  Bag(const Bag& other) : items_(other.items_) { ++alive(); }
  Bag& operator=(const Bag&) = default;
  ~Bag() { --alive(); }

  void add(int item) { items_.push_back(item); }
  void add(const Bag& other) { items_.insert(items_.end(), other.items_.begin(), other.items_.end()); }
  long sum() const {
    long sum = 0;
    for (const int item : items_) sum += item;
    return sum;
  }
  std::size_t count() const { return items_.size(); }
  static long& alive() {
    static thread_local long count = 0;
    return count;
  }

 private:
  std::vector<int> items_;
};
#pragma omp declare reduction(join:Bag : omp_out.add(omp_in))
#pragma omp declare reduction(longer : std::string : omp_out = \
                                  omp_out.size() < omp_in.size() ? omp_in : omp_out)

constexpr int count = 1000;
constexpr long sum_of_all = count * (count - 1L) / 2;

void several_variables(int size) {
  long sum = 5;
  double half = 0.5;
  std::complex<double> turn(0, 0);
  char largest = 0;
  unsigned short bits = 0;
  bool all = true;
#pragma omp declare reduction(+ : std::complex<double> : omp_out += omp_in)
#pragma omp parallel for num_threads(size) reduction(+ : sum, half, turn) reduction(max : largest) \
    reduction(| : bits) reduction(&& : all)
  for (int i = 0; i < count; ++i) {
    sum += i;
    half += 0.5;
    turn += std::complex<double>(1, -1);
    largest = std::max(largest, static_cast<char>(i % 101));
    bits = static_cast<unsigned short>(bits | 1U << i % 16);
    all = all && i >= 0;
  }
  CHECK(sum == sum_of_all + 5 && half == count * 0.5 + 0.5);
  CHECK(turn == std::complex<double>(count, -count) && largest == 100 && bits == 0xffff && all);
}

void arrays(int size) {
  std::array<long, 300> histogram{};
  long* const bins = histogram.data();
#pragma omp parallel for num_threads(size) reduction(+ : bins[ : 300])
  for (int i = 0; i < count * 3; ++i) bins[i % 300] += i;
  for (int bin = 0; bin < 300; ++bin) CHECK(histogram[static_cast<std::size_t>(bin)] == 10L * bin + 300 * 45);
}

void classes(int size) {
  Bag bag;
  std::string longest;
#pragma omp parallel for num_threads(size) reduction(join : bag) reduction(longer : longest)
  for (int i = 0; i < count; ++i) {
    bag.add(i);
    if (longest.size() < static_cast<std::size_t>(i % 200))
      longest = std::string(static_cast<std::size_t>(i % 200), 'x');
  }
  CHECK(bag.count() == count && bag.sum() == sum_of_all && longest == std::string(199, 'x'));
}

// Fast threads are reductions ahead of slow ones.
void overlapping(int size) {
  constexpr int rounds = 30;
  std::array<long, rounds> sums{};
  long* const of_rounds = sums.data();
  long total = 0;
#pragma omp parallel num_threads(size)
  for (int round = 0; round < rounds; ++round) {
    if ((omp_get_thread_num() + round) % 3 == 0) {
      volatile long work = 0;
      for (int i = 0; i < 20000; ++i) work = work + i;
    }
#pragma omp for schedule(static) reduction(+ : total, of_rounds[round : 1]) nowait
    for (int i = 0; i < count; ++i) {
      total += 1;
      of_rounds[round] += i + round;
    }
  }
  CHECK(total == static_cast<long>(count) * rounds);
  for (int round = 0; round < rounds; ++round)
    CHECK(sums[static_cast<std::size_t>(round)] == sum_of_all + static_cast<long>(count) * round);
}

// The original changes between reductions, which wait at their end.
void in_order(int size) {
  long value = 0;
#pragma omp parallel num_threads(size)
  for (int round = 1; round <= 20; ++round) {
#pragma omp for reduction(+ : value)
    for (int i = 0; i < 64; ++i) value += round;
    CHECK(value % 1000 == 64L * round % 1000);
#pragma omp barrier
#pragma omp single
    value = 1000L * round;
  }
  CHECK(value == 20000);
}

}  // namespace

int main() {
  const int whole = omp_get_max_threads();
  for (int repeat = 0; repeat < 3; ++repeat) {
    for (int size = 1; size <= whole + 2; ++size) {
      several_variables(size);
      arrays(size);
      classes(size);
      overlapping(size);
      in_order(size);
    }
  }
#pragma omp parallel proc_bind(spread) num_threads((whole + 1) / 2)
  { CHECK(Bag::alive() == 0); }
  several_variables(13);
  return 0;
}
