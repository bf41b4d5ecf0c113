// Segments of the policy `entry` on real pages: updates passed by locks, consistency made by barriers.
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "runtime/start/address_plan.h"
#include "tests/system/runtime/cases.h"

using namespace musubi;
using namespace musubi::test;

namespace {

using trace::Counter;

constexpr std::size_t page = 4096;

const vm::Segment& add(std::size_t bytes, std::uint32_t element_bytes = 0) {
  runtime::SegmentRequest request{bytes, page};
  request.policy = coherence::Policy::entry;
  request.element_bytes = element_bytes;
  auto added = job->segments().add(request);
  if (!added) job->ending().abort(1, added.error().message);
  return *added.value();
}
template <class T>
volatile T* at(const vm::Segment& segment) {
  return reinterpret_cast<volatile T*>(segment.base);
}

class Section {
 public:
  explicit Section(std::uint32_t lock) : lock_(lock) { job->synchronization().lock(lock_); }
  ~Section() { job->synchronization().unlock(lock_); }
  Section(const Section&) = delete;

 private:
  const LockId lock_;
};

// How often a rank enters the inner section of locks().
std::uint64_t inner_sections(std::uint32_t rank, unsigned turn, std::uint32_t locks, unsigned times) {
  std::uint64_t sections = 0;
  for (unsigned i = 0; i < times; i += 3) sections += (i + rank + turn) % locks + 1 != locks ? 1 : 0;
  return sections;
}

// Counters under eight locks, in one page and in several; nested sections move between two of them.
void locks() {
  constexpr std::uint32_t lock_count = 8;
  constexpr unsigned times = 200;
  const vm::Segment& segment = add(3 * page);
  volatile std::uint64_t* const words = at<std::uint64_t>(segment);
  std::uint64_t expected = 0;
  for (unsigned turn = 1; turn <= 3; ++turn) {
    for (unsigned i = 0; i < times; ++i) {
      const std::uint32_t lock = (i + job->self().value + turn) % lock_count;
      const Section outer(lock);
      words[lock] = words[lock] + 1;
      words[700 + 100 * lock] = words[lock];
      if (lock + 1 == lock_count || i % 3 != 0) continue;
      const Section inner(lock + 1);
      words[100 + lock + 1] = words[100 + lock + 1] + 1;  // always under this lock
    }
    meet();
    for (std::uint32_t rank = 0; rank < job->ranks(); ++rank) {
      expected += inner_sections(rank, turn, lock_count, times);
    }
    std::uint64_t inner = 0;
    for (std::uint32_t lock = 1; lock < lock_count; ++lock) inner += words[100 + lock];
    expect("the inner counts", inner, expected);
    std::uint64_t sum = 0;
    for (std::uint32_t lock = 0; lock < lock_count; ++lock) {
      sum += words[lock];
      expect("the copy of a count", words[700 + 100 * lock], words[lock]);
    }
    expect("the counts", sum, std::uint64_t{turn} * times * job->ranks());
    meet();
  }
}

// Every rank writes every n-th word outside of any lock; all ranks see all words after each barrier.
void barriers() {
  const vm::Segment& segment = add(20 * page);
  volatile std::uint32_t* const words = at<std::uint32_t>(segment);
  const std::size_t count = segment.bytes / sizeof *words;
  for (std::uint32_t turn = 1; turn <= 5; ++turn) {
    for (std::size_t i = job->self().value; i < count; i += job->ranks()) words[i] = turn * 1000 + i % 1000;
    meet();
    for (std::size_t i = turn; i < count; i += 7) expect("a word", words[i], turn * 1000 + i % 1000);
    meet();
  }
}

std::uint64_t of_job(Counter counter) {
  return job->counters().get(counter);
}

// Rank 0 increments integers under a lock; the last rank observes their updates.
void elements() {
  constexpr std::size_t integers = 1000;
  const vm::Segment* const segments[] = {&add(page), &add(page, sizeof(std::uint32_t))};
  for (const vm::Segment* const segment : segments) {
    volatile std::uint32_t* const words = at<std::uint32_t>(*segment);
    const std::uint64_t headers = of_job(Counter::update_headers);
    const std::uint64_t bytes = of_job(Counter::update_bytes);
    if (job->self() == Rank{0}) {
      const Section section(3);
      for (std::size_t i = 0; i < integers; ++i) words[i] = words[i] + 1;
      words[1023] = 1;
    }
    while (true) {
      const Section section(3);
      if (words[1023] == 1) break;
    }
    for (std::size_t i = 0; i < integers; ++i) expect("an integer", words[i], 1);
    if (job->self() != Rank{0}) {
      const bool whole = segment->element_bytes != 0;
      expect("headers", of_job(Counter::update_headers) - headers, whole ? 2 : integers + 1);
      expect("bytes", of_job(Counter::update_bytes) - bytes, whole ? 4 * integers + 4 : integers + 1);
    }
    meet();
  }
}

// The pages circulate; each manager in turn writes, and all ranks see it.
void managers() {
  const vm::Segment& segment = add(4 * page);
  volatile std::uint64_t* const words = at<std::uint64_t>(segment);
  runtime::Segments& segments = job->segments();
  const void* const base = reinterpret_cast<const void*>(segment.base);
  const void* const outside = reinterpret_cast<const void*>(&job);
  expect("no such rank", segments.change_page_manager(base, 1, Rank{job->ranks()}).ok(), false);
  expect("other memory", segments.change_page_manager(outside, 1, Rank{0}).ok(), false);
  expect("too many bytes", segments.change_page_manager(base, 4 * page + 1, Rank{0}).ok(), false);
  for (std::uint32_t turn = 0; turn < 2 * job->ranks() + 1; ++turn) {
    const Rank manager{turn % job->ranks()};
    if (job->self().value == (turn + 1) % job->ranks()) {
      expect("granted", segments.change_page_manager(base, 4 * page, manager).ok(), true);
    }
    meet();
    const std::uint64_t fetches = of_job(Counter::fetches);
    for (std::size_t i = 0; i < 4; ++i) expect("a word", words[512 * i + turn], turn == 0 ? 0 : 100 + turn);
    if (job->self() == manager) expect("fetches at the manager", of_job(Counter::fetches), fetches);
    meet();
    if (job->self() == manager) {
      for (std::size_t i = 0; i < 4; ++i) words[512 * i + turn + 1] = 101 + turn;
    }
    meet();
  }
}

// One rank writes, the other ranks look once: they leave the copy set, and find the page again.
void unused() {
  const vm::Segment& segment = add(page);
  volatile std::uint64_t* const words = at<std::uint64_t>(segment);
  for (std::uint64_t turn = 1; turn <= 30; ++turn) {
    if (job->self() == Rank{0}) words[turn] = turn;
    meet();
    if (turn % 10 == 1) expect("a word", words[turn], turn);
    meet();
  }
  for (std::uint64_t turn = 1; turn <= 30; ++turn) expect("a word", words[turn], turn);
  if (job->self() != Rank{0}) expect("unmapped pages", of_job(Counter::unmapped_pages), 3);
}

void atomics() {
  const vm::Segment& segment = add(2 * page);
  volatile std::uint64_t* const words = at<std::uint64_t>(segment);
  AtomicOperation addition{};
  addition.kind = AtomicOperation::Kind::add;
  addition.bytes = 8;
  addition.operand = 1;
  for (unsigned turn = 1; turn <= 2; ++turn) {
    for (unsigned i = 0; i < 300; ++i) {
      (void)job->synchronization().atomic(segment.base + 8 * (i % 3) + page * (i % 2), addition);
      words[16 + job->self().value] = i;
    }
    meet();
    for (unsigned i = 0; i < 6; ++i) {
      const std::uint64_t count = words[i % 3 + 512 * (i % 2)];
      expect("a count", count, std::uint64_t{50} * turn * job->ranks());
    }
    for (std::uint32_t rank = 0; rank < job->ranks(); ++rank) expect("a word", words[16 + rank], 299);
    meet();
  }
}

// Items pass through a slot of one word, from every rank to rank 0; a rank that finds it full or empty waits.
void conditions() {
  constexpr std::uint64_t items = 100;
  constexpr LockId lock{5};
  constexpr ConditionId filled{1}, emptied{2};
  const vm::Segment& segment = add(page);
  volatile std::uint64_t* const place = at<std::uint64_t>(segment);
  runtime::Coordination& coordination = job->coordination();
  if (job->self() != Rank{0}) {
    for (std::uint64_t i = 1; i <= items; ++i) {
      const Section section(lock.value);
      while (*place != 0) coordination.wait(emptied, lock, runtime::Coordination::forever);
      *place = i;
      coordination.signal(filled);
    }
  } else {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < items * (job->ranks() - 1); ++i) {
      const Section section(lock.value);
      while (*place == 0) coordination.wait(filled, lock, runtime::Coordination::forever);
      sum += *place;
      *place = 0;
      coordination.broadcast(emptied);
    }
    expect("the sum", sum, items * (items + 1) / 2 * (job->ranks() - 1));
  }
  meet();
}

// Threads of one rank under different locks, in one page.
void work_under(std::uint32_t lock, volatile std::uint64_t* words) {
  (void)job->threads().attach();
  for (unsigned i = 0; i < 200; ++i) {
    const Section section(lock);
    words[lock] = words[lock] + 1;
  }
  job->threads().detach();
}

void threads() {
  const vm::Segment& segment = add(page);
  volatile std::uint64_t* const words = at<std::uint64_t>(segment);
  std::vector<std::thread> working;
  for (std::uint32_t lock = 0; lock < 3; ++lock) working.emplace_back(work_under, lock, words);
  for (std::thread& thread : working) thread.join();
  meet();
  for (std::uint32_t lock = 0; lock < 3; ++lock) expect("a count", words[lock], 200 * job->ranks());
  meet();
}

// More separate runs than fit the lists.
void many_runs() {
  const vm::Segment& segment = add(64 * page);
  volatile std::uint8_t* const bytes = at<std::uint8_t>(segment);
  if (job->self() == Rank{0}) {
    const Section section(0);
    for (std::size_t i = 0; i < segment.bytes; i += 2) bytes[i] = 1;
  }
  meet();
}

}  // namespace

int main(int, char** arguments) {
  constexpr Case cases[] = {{"locks", locks},           {"barriers", barriers}, {"elements", elements},
                            {"managers", managers},     {"unused", unused},     {"atomics", atomics},
                            {"conditions", conditions}, {"threads", threads},   {"many_runs", many_runs}};
  return run_case(arguments, cases);
}
