// Data passed from thread to thread by C++ atomics, as in finished binaries: spin locks, tickets, lock-free
// stacks, reference counts, the last thread to arrive, and blocks that an atomic store announces. All of it
// without a race.
#include <sched.h>

#include <atomic>
#include <memory>
#include <new>
#include <utility>

#include "check.h"

// Far enough apart to be in separate blocks.
static const int pieces = 6, piece_longs = 4096;
static long data[pieces * piece_longs];

static void change_data(long expected) {
  for (int i = 0; i < pieces; ++i) {
    CHECK(data[i * piece_longs] == expected);
    data[i * piece_longs] = expected + 1;
  }
}

static void clear_data() {
  for (int i = 0; i < pieces; ++i) data[i * piece_longs] = 0;
}

static void spin_lock() {
  static std::atomic_flag held = ATOMIC_FLAG_INIT;
  const int rounds = 60;
  clear_data();
#pragma omp parallel
  for (int i = 0; i < rounds; ++i) {
    while (held.test_and_set(std::memory_order_acquire)) sched_yield();
    change_data(data[0]);
    held.clear(std::memory_order_release);
  }
  CHECK(data[0] == rounds * omp_get_max_threads());
}

static void tickets() {
  static std::atomic<long> next, served;
  const int rounds = 30;
  clear_data();
  next = served = 0;
#pragma omp parallel
  for (int i = 0; i < rounds; ++i) {
    const long mine = next.fetch_add(1);
    while (served.load(std::memory_order_acquire) != mine) sched_yield();
    change_data(mine);
    served.fetch_add(1, std::memory_order_release);
  }
  CHECK(data[0] == rounds * omp_get_max_threads());
}

// No thread uses a plain load.
static void turns_by_exchange() {
  static std::atomic<long> turn;
  clear_data();
  turn = 0;
#pragma omp parallel
  for (long round = 0; round < 20; ++round) {
    const long wanted = round * omp_get_num_threads() + omp_get_thread_num();
    for (long seen = wanted; !turn.compare_exchange_weak(seen, wanted); seen = wanted) sched_yield();
    change_data(wanted);
    turn.fetch_add(1);
  }
}

struct Node {
  long value[64];
  Node* next;
};

static void stack_without_locks() {
  static std::atomic<Node*> first;
  static std::atomic<long> sum;
  const int rounds = 100;
  first = nullptr;
  sum = 0;
#pragma omp parallel
  {
    for (int i = 0; i < rounds; ++i) {
      Node* const node = new Node;
      for (long& value : node->value) value = i;
      node->next = first.load(std::memory_order_relaxed);
      while (!first.compare_exchange_weak(node->next, node, std::memory_order_release)) {
      }
    }
    // All nodes are taken at once: no node returns while other threads look at it.
    for (Node* node = first.exchange(nullptr, std::memory_order_acquire); node != nullptr;) {
      for (const long value : node->value) CHECK(value == node->value[0]);
      sum += node->value[0];
      delete std::exchange(node, node->next);
    }
  }
  CHECK(first.load() == nullptr);
  CHECK(sum == omp_get_max_threads() * rounds * (rounds - 1L) / 2);
}

static void last_one_to_arrive() {
  static std::atomic<int> arrived;
  for (long round = 1; round <= 20; ++round) {
    static long parts[64 * 512];
    long found = 0;
    arrived = 0;
#pragma omp parallel
    {
      parts[omp_get_thread_num() % 64 * 512] = round;
      if (arrived.fetch_add(1) == omp_get_num_threads() - 1) {
        for (int i = 0; i < omp_get_num_threads(); ++i) found += parts[i * 512];
      }
    }
    CHECK(found == round * omp_get_max_threads());
  }
}

struct Shared {
  long written[64] = {};
  ~Shared() {
    for (int i = 0; i < omp_get_num_threads(); ++i) CHECK(written[i] == i + 1);
    ++destroyed;
  }
  static std::atomic<int> destroyed;
};
std::atomic<int> Shared::destroyed;

static void counts_of_references() {
  Shared::destroyed = 0;
  const int rounds = 20;
  for (int round = 0; round < rounds; ++round) {
    auto owner = std::make_shared<Shared>();
#pragma omp parallel
    {
      std::shared_ptr<Shared> own;
#pragma omp critical
      own = owner;
#pragma omp barrier
#pragma omp single
      owner.reset();
      own->written[omp_get_thread_num()] = omp_get_thread_num() + 1;
      own.reset();
    }
  }
  CHECK(Shared::destroyed == rounds);
}

// As linear algebra packs the blocks of a product: each thread packs its own part, and announces it to all
// other threads.
struct Part {
  std::atomic<long> ready{-1};
  std::atomic<int> users{0};
  long begin = 0, count = 0;
};

static void use_parts(Part* parts, double* packed, int steps) {
  const int self = omp_get_thread_num(), threads = omp_get_num_threads();
  for (long step = 0; step < steps; ++step) {
    while (parts[self].users != 0) sched_yield();
    parts[self].users = threads;
    for (long i = 0; i < parts[self].count; ++i) packed[parts[self].begin + i] = step * 1000.0 + i % 100;
    parts[self].ready = step;
    for (int shift = 0; shift < threads; ++shift) {
      const int other = (self + shift) % threads;
      while (parts[other].ready != step) sched_yield();
      CHECK(parts[other].count == parts[self].count);
      for (long i = 0; i < parts[other].count; ++i)
        CHECK(packed[parts[other].begin + i] == step * 1000.0 + i % 100);
    }
    for (int i = 0; i < threads; ++i) parts[i].users -= 1;
  }
}

static void packed_blocks(Part* parts, int steps) {
  const long count = 20000;
  double* const packed = new double[count];
  for (int i = 0; i < omp_get_max_threads(); ++i) new (&parts[i]) Part;
#pragma omp parallel
  {
    Part& own = parts[omp_get_thread_num()];
    own.count = count / omp_get_num_threads();
    own.begin = own.count * omp_get_thread_num();
    use_parts(parts, packed, steps);
  }
  delete[] packed;
}

int main() {
  const int most = 64;
  static Part global[most];
  Part on_the_stack[most];
  std::unique_ptr<Part[]> on_the_heap(new Part[most]);
  CHECK(omp_get_max_threads() <= most);
  spin_lock();
  tickets();
  turns_by_exchange();
  stack_without_locks();
  last_one_to_arrive();
  counts_of_references();
  for (int round = 0; round < 5; ++round) {
    for (Part* parts : {global, on_the_stack, on_the_heap.get()}) {
      packed_blocks(parts, 1);
      packed_blocks(parts, 8);
    }
  }
}
