// A rank of a job that tries musubi.hpp: cxx_program <case>. Each case checks itself.
#include <musubi/musubi.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

void check(bool holds, const char* what, int line) {
  if (holds) return;
  std::fprintf(stderr, "cxx_program.cpp:%d: rank %d: not true: %s\n", line, musubi::rank(), what);
  musubi_abort(99, "a check of the test failed");
}
#define CHECK(...) check((__VA_ARGS__), #__VA_ARGS__, __LINE__)

template <class Call>
int code_of(Call call) {
  try {
    call();
  } catch (const musubi::error& refused) {
    CHECK(std::strcmp(refused.what(), musubi_error_text(refused.code())) == 0);
    return refused.code();
  }
  return MUSUBI_OK;
}

void arrays() {
  const int rank = musubi::rank(), ranks = musubi::size();
  musubi::shared_array<long> numbers(100'003);
  for (long& x : musubi::part_of(numbers.span(), rank, ranks)) x = &x - numbers.data();
  musubi::barrier();
  CHECK(std::accumulate(numbers.begin(), numbers.end(), 0L) == 100'003L * 100'002L / 2);
  std::size_t parts = 0;
  for (int i = 0; i < ranks; ++i) parts += musubi::part_of(numbers.span(), i, ranks).size();
  CHECK(parts == numbers.size());
  musubi::barrier();

  musubi_attributes attributes{};
  attributes.placement = MUSUBI_PLACE_AT;
  attributes.home = ranks - 1;
  attributes.policy = MUSUBI_POLICY_HOME;
  musubi::shared_array<double> moved(1000, attributes), target(10);
  const double* const place = moved.data();
  target = std::move(moved);
  CHECK(target.data() == place && target.size() == 1000);
  target[static_cast<std::size_t>(rank)] = rank + 0.5;
  musubi::barrier();
  CHECK(target[static_cast<std::size_t>(ranks - 1)] == ranks - 0.5);
  attributes.home = ranks;
  CHECK(code_of([&] { musubi::shared_array<int> refused(1, attributes); }) == MUSUBI_ERROR_ARGUMENT);
  CHECK(code_of([] { musubi::shared_array<double> refused(~std::size_t{0} / 4); }) == MUSUBI_ERROR_MEMORY);

  musubi::prefetch(std::span<const double>(target.span()));
  musubi::release_range(target.span());
  musubi::touch(target.span());
  double private_values[2]{};
  CHECK(code_of([&] { musubi::prefetch(std::span(private_values)); }) == MUSUBI_ERROR_ADDRESS);
}

struct Counted {
  explicit Counted(int start) : value(start) {
    if (start < 0) throw std::invalid_argument("negative");
  }
  ~Counted() { ++destroyed; }
  static inline int destroyed = 0;
  int value;
};

using Text = std::basic_string<char, std::char_traits<char>, musubi::allocator<char>>;
using Table = std::map<int, Text, std::less<>, musubi::allocator<std::pair<const int, Text>>>;

// Rank 0 fills containers, all ranks read them, the last rank changes them.
void containers() {
  musubi::unique_ptr<Table> own;
  if (musubi::rank() == 0) {
    own = musubi::make_unique<Table>();
    for (int i = 0; i < 1000; ++i) own->emplace(i, Text(static_cast<std::size_t>(i % 50 + 1), 'a'));
  }
  Table* const table = musubi::broadcast(own.get());
  CHECK(table->size() == 1000 && table->at(999).size() == 50);
  musubi::barrier();
  if (musubi::rank() == musubi::size() - 1) table->at(7) = "changed at another rank, and longer than before";
  musubi::barrier();
  CHECK(table->at(7).starts_with("changed"));
  musubi::barrier();

  bool thrown = false;
  try {
    musubi::make_unique<Counted>(-1);
  } catch (const std::invalid_argument&) {
    thrown = true;
  }
  CHECK(thrown && Counted::destroyed == 0);
  musubi::make_unique<Counted>(1).reset();
  CHECK(Counted::destroyed == 1);
  musubi::allocator<int> memory;
  bool full = false;
  try {
    (void)memory.allocate(std::size_t{1} << 60);
  } catch (const std::bad_alloc&) {
    full = true;
  }
  CHECK(full);
  struct alignas(256) Aligned {
    char bytes[256];
  };
  musubi::allocator<Aligned> aligned;
  Aligned* const place = aligned.allocate(3);
  CHECK(reinterpret_cast<std::uintptr_t>(place) % 256 == 0);
  aligned.deallocate(place, 3);
}

// An object that is destroyed by a pointer to its second base.
void bases() {
  struct First {
    virtual ~First() = default;
    long first = 1;
  };
  struct Second {
    virtual ~Second() = default;
    long second = 2;
  };
  struct Both : First, Second {};
  for (int i = 0; i < 1000; ++i) {
    musubi::unique_ptr<Both> both = musubi::make_unique<Both>();
    void* const memory = both.get();
    musubi::unique_ptr<Second> second = std::move(both);
    CHECK(second->second == 2 && static_cast<void*>(second.get()) != memory);
    second.reset();
    CHECK(musubi::make_unique<Both>().get() == memory);
  }
}

void locks() {
  struct Board {
    long sum;
    int ready;
  };
  musubi::shared_array<Board> board(1);
  if (musubi::rank() == 0) board[0] = {};
  musubi::barrier();
  musubi::mutex lock(5);
  musubi::condition all_ready(9);
  for (int i = 0; i < 100; ++i) {
    const std::scoped_lock held(lock);
    ++board[0].sum;
  }
  {
    std::unique_lock held(lock);
    CHECK(code_of([&] { lock.lock(); }) == MUSUBI_ERROR_HELD);
    ++board[0].ready;
    all_ready.notify_all();
    all_ready.wait(held, [&] { return board[0].ready == musubi::size(); });
    CHECK(board[0].sum == 100 * musubi::size());
  }
  musubi::barrier();
  {
    std::unique_lock held(lock);
    CHECK(musubi::condition(10).wait_for(held, std::chrono::microseconds(1)) == std::cv_status::timeout);
  }
  {
    // The longest time that can be expressed, and more than fits into nanoseconds.
    const auto number = static_cast<std::uint32_t>(100 + musubi::rank());
    musubi::mutex own(number);
    std::unique_lock held(own);
    std::thread notifier([&own, number] {
      const musubi::attached_thread attached;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));  // a wait that ended too early would show
      const std::scoped_lock behind_the_wait(own);
      musubi::condition(number).notify_one();
    });
    CHECK(musubi::condition(number).wait_for(held, std::chrono::hours::max()) == std::cv_status::no_timeout);
    held.unlock();
    notifier.join();
    held.lock();
    CHECK(musubi::condition(number).wait_for(held, std::chrono::hours::min()) == std::cv_status::timeout);
    const std::chrono::duration<double> no_number(0.0 / 0.0);
    CHECK(musubi::condition(number).wait_for(held, no_number) == std::cv_status::timeout);
  }
  CHECK(code_of([&] { lock.unlock(); }) == MUSUBI_ERROR_NOT_HELD);
  CHECK(code_of([] { musubi::mutex(MUSUBI_LOCK_COUNT).lock(); }) == MUSUBI_ERROR_LOCK);

  musubi::shared_mutex shared(static_cast<std::uint32_t>(musubi::rank()));
  const std::shared_lock reader(shared);
  std::thread([&shared] {
    const musubi::attached_thread attached;
    CHECK(!shared.try_lock() && shared.try_lock_shared());
    shared.unlock_shared();
  }).join();
}

void values() {
  const int rank = musubi::rank(), ranks = musubi::size();
  CHECK(musubi::allreduce(rank, musubi::operation::max) == ranks - 1);
  CHECK(musubi::allreduce(1.5, musubi::operation::sum) == 1.5 * ranks);
  CHECK(musubi::allreduce(std::uint64_t{1} << rank, musubi::operation::bit_or) == (1u << ranks) - 1);
  CHECK(musubi::allreduce(-1L - rank, musubi::operation::min) == -ranks);
  CHECK(musubi::allreduce(2.0F, musubi::operation::product) == static_cast<float>(1 << ranks));
  std::vector<int> at_root(10, rank);
  musubi::reduce(std::span(at_root), musubi::operation::sum, ranks - 1);
  CHECK(at_root[3] == (rank == ranks - 1 ? ranks * (ranks - 1) / 2 : rank));
  struct Pair {
    int a;
    double b;
  };
  const Pair pair = musubi::broadcast(Pair{rank, rank + 0.25}, ranks - 1);
  CHECK(pair.a == ranks - 1 && pair.b == ranks - 0.75);
  CHECK(code_of([&] { musubi::allreduce(1.0, musubi::operation::bit_and); }) == MUSUBI_ERROR_ARGUMENT);

  struct Words {
    std::uint64_t count;
    int smallest;
    float last;
  };
  musubi::shared_array<Words> words(1);
  if (rank == 0) words[0] = {0, 1000, 0};
  musubi::barrier();
  for (int i = 0; i < 50; ++i) musubi::atomic_ref(words[0].count).fetch_add(2);
  const musubi::atomic_ref smallest(words[0].smallest);
  int seen = smallest.load();
  while (seen > -rank && !smallest.compare_exchange(seen, -rank)) {
  }
  musubi::atomic_ref(words[0].last).store(0.5F);
  musubi::barrier();
  CHECK(musubi::atomic_ref(words[0].count).load() == 100u * static_cast<unsigned>(ranks));
  CHECK(smallest.load() == 1 - ranks && musubi::atomic_ref(words[0].last).load() == 0.5F);
  CHECK(code_of([&] { musubi::atomic_ref(seen).load(); }) == MUSUBI_ERROR_ADDRESS);
}

// One rank throws while it holds an array that belongs to all; the other ranks are at the barrier.
void exception_leaves() {
  musubi::shared_array<int> array(10);
  if (musubi::rank() == 0) throw std::runtime_error("thrown on purpose");
  musubi::barrier();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc == 2 ? argv[1] : "";
  try {
    musubi::job job(argc, argv);
    CHECK(code_of([] { musubi::job second; }) == MUSUBI_ERROR_STATE);
    if (name == "cxx_arrays") arrays();
    if (name == "cxx_containers") containers();
    if (name == "cxx_bases") bases();
    if (name == "cxx_locks") locks();
    if (name == "cxx_values") values();
    if (name == "cxx_exception") exception_leaves();
    if (name == "cxx_status") job.exit_status(40 + musubi::rank());
  } catch (const std::exception& thrown) {
    std::fprintf(stderr, "%s\n", thrown.what());
    return EXIT_FAILURE;
  }
  CHECK(code_of([] { musubi::barrier(); }) == MUSUBI_ERROR_STATE);
  return EXIT_SUCCESS;
}
