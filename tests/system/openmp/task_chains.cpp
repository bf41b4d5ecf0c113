// Tasks that create the next task and end: however many there are, the stack does not grow with them. The
// same holds for tasks that are deferred for this reason.
#include <string>
#include <vector>

#include "check.h"

namespace {

constexpr int links = 200000;
constexpr int start_of_middle = 100000;  // from here on, tasks have long been deferred

// With a copy constructor and a destructor: the data of a task are more than bytes.
struct Value {
  Value(std::string of_value) : text(std::move(of_value)) {}
  Value(const Value& other) : text(other.text), is_copy(true) {}
  std::string text;
  bool is_copy = false;
};

struct alignas(64) Aligned {
  int number;
  char bytes[200];
};

void count_down(int left, long& sum) {
  ++sum;
  if (left == 0) return;
#pragma omp task firstprivate(left) shared(sum)
  count_down(left - 1, sum);
}

void pass_on(int left, Value value, long& sum) {
  CHECK(value.text == "number " + std::to_string(left));
  ++sum;
  if (left == 0) return;
  Value next("number " + std::to_string(left - 1));
#pragma omp task firstprivate(left, next) shared(sum)
  {
    CHECK(next.is_copy);
    pass_on(left - 1, next, sum);
  }
}

void pass_on_aligned(const Aligned& before, long& sum) {
  ++sum;
  if (before.number == 0) return;
  Aligned value = before;
  --value.number;
  value.bytes[value.number % 200] = static_cast<char>(value.number);
#pragma omp task firstprivate(value) shared(sum)
  {
    CHECK(reinterpret_cast<std::uintptr_t>(&value) % 64 == 0);
    CHECK(value.bytes[value.number % 200] == static_cast<char>(value.number));
    pass_on_aligned(value, sum);
  }
}

// Each task makes two, one of them a leaf; every second one is undeferred.
void branch(int left, long& sum) {
#pragma omp atomic
  ++sum;
  if (left == 0) return;
#pragma omp task firstprivate(left) shared(sum)
  branch(left - 1, sum);
#pragma omp task shared(sum)
  {
#pragma omp atomic
    ++sum;
  }
}

// The next task is created by another task than before.
void alternate(int left, long& sum) {
  ++sum;
  if (left == 0) return;
#pragma omp task firstprivate(left) shared(sum)
  {
#pragma omp task if (0) firstprivate(left) shared(sum)
    alternate(left - 1, sum);
  }
}

void loop_on(int left, long& sum) {
  if (left == 0) return;
#pragma omp taskloop nogroup num_tasks(3) firstprivate(left) shared(sum)
  for (int i = 0; i < 3; ++i) {
#pragma omp atomic
    ++sum;
    if (i == 1) loop_on(left - 1, sum);
  }
}

void check_dependences() {
  std::vector<int> order;
  [[maybe_unused]] int word = 0;
  for (int i = 0; i < 10; ++i) {
#pragma omp task depend(inout : word) firstprivate(i) shared(order)
    order.push_back(i);
  }
#pragma omp task if (0) depend(inout : word) shared(order)
  order.push_back(10);
  CHECK(order.size() == 11);
#pragma omp task depend(out : word) shared(order)
  order.push_back(11);
#pragma omp taskwait depend(in : word)
  CHECK(order.size() == 12);
  for (int i = 0; i < 12; ++i) CHECK(order[static_cast<std::size_t>(i)] == i);
}

void check_waits() {
  int children = 0, grandchildren = 0;
  for (int i = 0; i < 5; ++i) {
#pragma omp task shared(children, grandchildren)
    {
#pragma omp task shared(grandchildren)
      {
#pragma omp atomic
        ++grandchildren;
      }
#pragma omp taskwait
#pragma omp atomic
      ++children;
    }
  }
#pragma omp taskwait
  CHECK(children == 5 && grandchildren == 5);
#pragma omp taskgroup
  {
    for (int i = 0; i < 5; ++i) {
#pragma omp task shared(grandchildren)
      {
#pragma omp task shared(grandchildren)
        {
#pragma omp atomic
          ++grandchildren;
        }
      }
    }
  }
  CHECK(grandchildren == 10);
}

void check_reductions_and_settings() {
  long sum = 0;
#pragma omp taskgroup task_reduction(+ : sum)
  {
    for (int i = 1; i <= 100; ++i) {
#pragma omp task in_reduction(+ : sum) firstprivate(i)
      sum += i;
    }
  }
  CHECK(sum == 5050);
#pragma omp taskloop reduction(+ : sum)
  for (int i = 1; i <= 100; ++i) sum += i;
  CHECK(sum == 10100);
  int inherited = 0, in_final = 0;
  omp_set_num_threads(7);
#pragma omp task shared(inherited)
  {
    inherited = omp_get_max_threads();
    omp_set_num_threads(8);
  }
#pragma omp task final(1) shared(in_final)
  {
    bool ended = false;
#pragma omp task shared(ended)
    ended = true;
    in_final = omp_in_final() != 0 && ended;
  }
#pragma omp taskwait
  CHECK(inherited == 7 && in_final == 1 && omp_get_max_threads() == 7);
}

// A task that began earlier, in the middle of a chain.
void check_in_the_middle(int left) {
  if (left == start_of_middle) {
    check_dependences();
    check_waits();
    check_reductions_and_settings();
  }
  if (left == 0) return;
#pragma omp task firstprivate(left)
  check_in_the_middle(left - 1);
}

void check_cancellation(int left, int& ran) {
  if (left > 0) {
#pragma omp task firstprivate(left) shared(ran)
    check_cancellation(left - 1, ran);
    return;
  }
#pragma omp taskgroup
  {
    for (int i = 0; i < 3; ++i) {
#pragma omp task shared(ran)
      {
#pragma omp atomic
        ++ran;
#pragma omp cancel taskgroup
      }
    }
  }
#pragma omp task shared(ran)
  {
#pragma omp atomic
    ran += 100;
  }
}

}  // namespace

int main() {
  long counted = 0, passed = 0, aligned = 0, branched = 0, alternated = 0, looped = 0;
  int ran = 0;
#pragma omp parallel shared(counted, passed, aligned, branched, alternated, looped)
  {
#pragma omp single
    {
      count_down(links, counted);
      check_in_the_middle(2 * start_of_middle);
    }
#pragma omp single
    {
      pass_on(links, Value("number " + std::to_string(links)), passed);
      pass_on_aligned({links, {}}, aligned);
    }
#pragma omp single
    {
      branch(links, branched);
      alternate(links, alternated);
      loop_on(links / 10, looped);
    }
#pragma omp single
    check_cancellation(start_of_middle, ran);
  }
  CHECK(counted == links + 1 && passed == links + 1 && aligned == links + 1);
  CHECK(branched == 2 * links + 1 && alternated == links + 1 && looped == links / 10 * 3);
  CHECK(omp_get_cancellation() ? ran >= 101 && ran <= 103 : ran == 103);
  long of_all = 0;
#pragma omp parallel reduction(+ : of_all)
  {
    long own = 0;
#pragma omp taskgroup
    {
#pragma omp task shared(own)
      count_down(links / 10, own);
    }
    of_all += own == links / 10 + 1;
#pragma omp barrier
  }
#pragma omp parallel
#pragma omp single
  CHECK(of_all == omp_get_num_threads());
  puts("task_chains: passed");
  return 0;
}
