// Atomics from the compiler, patched in this process, and unpatched ones, emulated at a fault.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>

#include "atomics/patch.h"
#include "subject.h"
#include "traps.h"

extern "C" {
extern const char __start_atomics_subject[];
extern const char __stop_atomics_subject[];
}

namespace musubi::atomics {
namespace {

constexpr std::size_t area_bytes = 64 * 1024;
constexpr long times = 100000;

// Only the mutex makes its operations atomic. Works on another view of the memory if one exists. Plain stores
// of the program (the release of a spin lock) bypass the mutex and must not be lost: an operation that leaves
// its word unchanged does not write it.
class LockedSink final : public AtomicSink {
 public:
  AtomicValue execute(std::uintptr_t address, const AtomicOperation& operation) noexcept override {
    const std::lock_guard guard(mutex_);
    ++executed;
    volatile auto* word = reinterpret_cast<volatile std::uint8_t*>(address + distance);
    AtomicValue old = 0;
    for (unsigned i = 0; i < operation.bytes; ++i) old |= AtomicValue{word[i]} << (8 * i);
    const AtomicValue result = apply(operation, old);
    if (result == old) return old;
    for (unsigned i = 0; i < operation.bytes; ++i) word[i] = static_cast<std::uint8_t>(result >> (8 * i));
    return old;
  }
  void fence() noexcept override { ++fences; }

  std::uintptr_t distance = 0;  // from an address of the program to its bytes
  long executed = 0;
  std::atomic<long> fences = 0;

 private:
  std::mutex mutex_;
};

// State that patched code and signal handlers reach; set up once for all tests of this program.
struct World {
  LockedSink sink;
  LockedSink fault_sink;
  std::uint8_t* shared = nullptr;      // its atomics go to `sink` when patched
  std::uint8_t* protected_ = nullptr;  // no direct access is allowed
  SharedRanges ranges;
  SharedRanges fault_ranges;
  PatchReport report;
  bool ready = false;
};

World& world() {
  static World* one = new World;  // outlives patched code in static destructors
  return *one;
}

std::uint8_t* map(int descriptor, int protection) {
  const int flags = descriptor < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  void* mapped = ::mmap(nullptr, area_bytes, protection, flags, descriptor, 0);
  EXPECT_NE(mapped, MAP_FAILED);
  return static_cast<std::uint8_t*>(mapped);
}

AddressInterval range_of(const void* begin, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  return {address, address + bytes};
}

Scan scan_subject() {
  const auto begin = reinterpret_cast<std::uintptr_t>(__start_atomics_subject);
  return find_sites(__start_atomics_subject,
                    static_cast<std::size_t>(__stop_atomics_subject - __start_atomics_subject), begin);
}

class AtomicsProgram : public testing::Test {
 protected:
  void SetUp() override {
    World& w = world();
    if (w.ready) return;
    w.shared = map(-1, PROT_READ | PROT_WRITE);
    const AddressInterval ranges[] = {range_of(w.shared, area_bytes),
                                      range_of(&subject_globals, sizeof subject_globals)};
    w.ranges = SharedRanges::make(ranges).value();
    ASSERT_TRUE(attach(w.sink, w.ranges).ok());
    take_traps();
    FreeMemory free(w.ranges);
    Result<PatchReport> report = patch(scan_subject(), free);
    ASSERT_TRUE(report.ok()) << report.error().message;
    w.report = report.value();
    w.ready = true;
  }

  template <class Word>
  Word* shared_word(std::size_t index) {
    auto* word = reinterpret_cast<Word*>(world().shared + 128 * index);
    std::memset(word, 0, sizeof *word);
    return word;
  }
};

template <class Function>
void on_two_threads(Function function) {
  std::thread other(function);
  function();
  other.join();
}

TEST_F(AtomicsProgram, SitesAreFoundAndPatched) {
  EXPECT_GT(world().report.jumps, 3u);
  EXPECT_GE(world().report.overlapping_jumps, 1u);  // the compiler chooses how many sites are short
  EXPECT_EQ(world().report.traps, 0u);
  EXPECT_GE(world().report.fences, 5u);
  EXPECT_EQ(world().report.skipped, 0u);
}

TEST_F(AtomicsProgram, ThreadsCountExactly) {
  long* counter = shared_word<long>(1);
  long* tickets = shared_word<long>(2);
  std::atomic<long> seen = 0;
  const long before = world().sink.executed;
  on_two_threads([&] {
    subject_increment(counter, times);
    seen += subject_ticket(tickets, times / 10);
  });
  EXPECT_EQ(*counter, 2 * times);
  EXPECT_EQ(*tickets, 2 * times / 10);
  const long last = 2 * times / 10;
  EXPECT_EQ(seen, last * (last - 1) / 2);
  EXPECT_EQ(world().sink.executed - before, 2 * times + last);
}

TEST_F(AtomicsProgram, ReductionsAreExact) {
  double* sum = shared_word<double>(3);
  on_two_threads([sum] { subject_reduce(sum, 0.5, times / 2); });
  EXPECT_EQ(*sum, 0.5 * static_cast<double>(times));
}

TEST_F(AtomicsProgram, PrivateMemoryStaysWithTheProcessor) {
  long counter = 0;
  double sum = 0;
  const long before = world().sink.executed;
  on_two_threads([&] {
    subject_increment(&counter, times / 10);
    subject_reduce(&sum, 1, times / 10);
  });
  EXPECT_EQ(counter, 2 * (times / 10));
  EXPECT_EQ(sum, 2.0 * (times / 10));
  EXPECT_EQ(world().sink.executed, before);
}

TEST_F(AtomicsProgram, GlobalsAreReachedRelativeToTheCode) {
  subject_globals = {};
  const long before = world().sink.executed;
  on_two_threads([] { subject_count_globals(1000); });
  EXPECT_EQ(subject_globals.counter, 6000);
  EXPECT_EQ(subject_globals.flags, (1 << 30) - 1);
  EXPECT_EQ(subject_globals.halves[1], 2000);
  EXPECT_EQ(subject_globals.bytes[3], 2000 % 256);
  EXPECT_EQ(subject_globals.halves[0], 0);
  EXPECT_EQ(world().sink.executed - before, 8000);
}

// The same calls on shared and on private memory have the same results.
TEST_F(AtomicsProgram, BuiltinsGiveTheSameResultsOnSharedMemory) {
  auto run = [](std::uint8_t* memory) {
    std::memset(memory, 0, 256);
    auto* words = reinterpret_cast<long*>(memory);
    const double values[] = {1.5, 2.5, 3.5, 4.5};
    words[0] = 3;
    subject_multiply(words, 14);
    std::vector<double> results;
    results.push_back(static_cast<double>(subject_swap(words + 1, 77)));
    auto* bits = reinterpret_cast<unsigned*>(words + 2);
    for (unsigned bit : {3u, 4u, 3u, 31u, 31u}) results.push_back(subject_test_and_set_bit(bits, bit));
    auto* number = reinterpret_cast<int*>(words + 3);
    *number = 5;
    results.push_back(subject_legacy(number));
    results.push_back(subject_narrow(memory + 64, reinterpret_cast<unsigned short*>(memory + 66)));
    results.push_back(static_cast<double>(subject_leaf(words + 4, 17, 23)));
    results.push_back(subject_vectors(words + 5, values));
    for (int i = 0; i < 256; ++i) results.push_back(memory[i]);
    return results;
  };
  alignas(64) std::uint8_t own[256];
  const long before = world().sink.executed;
  const std::vector<double> expected = run(own);
  EXPECT_EQ(world().sink.executed, before);
  EXPECT_EQ(run(world().shared + 4096), expected);
  EXPECT_GE(world().sink.executed - before, 17);
}

TEST_F(AtomicsProgram, SpinLocksExclude) {
  int* lock = shared_word<int>(5);
  long guarded = 0;
  on_two_threads([&] { subject_spin_lock(lock, &guarded, 2000); });
  EXPECT_EQ(guarded, 4000);
}

TEST_F(AtomicsProgram, FencesReachTheSink) {
  const long before = world().sink.fences;
  subject_fences();
  EXPECT_EQ(world().sink.fences - before, 4);
}

// Code that runs into the padding that holds the jump of the previous instruction.
TEST_F(AtomicsProgram, PaddingThatHoldsAJumpIsStillPassed) {
  std::uint8_t* code = map(-1, PROT_READ | PROT_WRITE | PROT_EXEC);
  const std::uint8_t bytes[] = {
      0xf0, 0xff, 0x07,                                // lock incl (%rdi)
      0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0, 0, 0, 0,  // nopw: ten bytes
      0x31, 0xc0,                                      // xor %eax, %eax
      0xf0, 0x0f, 0xc1, 0x07,                          // lock xadd %eax, (%rdi)
      0xc3,                                            // ret
  };
  std::memcpy(code, bytes, sizeof bytes);
  const Scan scan = find_sites(code, sizeof bytes, reinterpret_cast<std::uintptr_t>(code));
  ASSERT_EQ(scan.padding.size(), 1u);
  FreeMemory free(world().ranges);
  Result<PatchReport> report = patch(scan, free);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report.value().trampolines, 1u);
  EXPECT_EQ(report.value().overlapping_jumps, 1u);
  const auto function = reinterpret_cast<int (*)(int*)>(code);
  const long before = world().sink.executed;
  int own = 4;
  EXPECT_EQ(function(&own), 5);
  EXPECT_EQ(world().sink.executed, before);
  EXPECT_EQ(function(shared_word<int>(7)), 1);
  EXPECT_EQ(world().sink.executed, before + 2);
}

// Short instructions in a row: each jump shares bytes with the next one, which has become a jump itself.
TEST_F(AtomicsProgram, JumpsShareBytesWithOtherJumps) {
  std::uint8_t* code = map(-1, PROT_READ | PROT_WRITE | PROT_EXEC);
  const std::uint8_t bytes[] = {
      0x31, 0xc0,              // xor %eax, %eax
      0xf0, 0xff, 0x07,        // lock incl (%rdi)
      0xf0, 0xff, 0x07,        // again
      0xf0, 0x0f, 0xc1, 0x07,  // lock xadd %eax, (%rdi)
      0xf0, 0xff, 0x0f,        // lock decl (%rdi)
      0x48, 0x89, 0xc0,        // mov %rax, %rax
      0x48, 0x85, 0xc0,        // test %rax, %rax
      0xc3,                    // ret
  };
  std::memcpy(code, bytes, sizeof bytes);
  FreeMemory free(world().ranges);
  Result<PatchReport> report =
      patch(find_sites(code, sizeof bytes, reinterpret_cast<std::uintptr_t>(code)), free);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_GE(report.value().overlapping_jumps, 3u);
  EXPECT_EQ(report.value().overlapping_jumps + report.value().traps, 4u);
  const auto function = reinterpret_cast<int (*)(int*)>(code);
  const long before = world().sink.executed;
  int own = 4;
  EXPECT_EQ(function(&own), 6);
  EXPECT_EQ(own, 5);
  EXPECT_EQ(world().sink.executed, before);
  int* word = shared_word<int>(9);
  EXPECT_EQ(function(word), 2);
  EXPECT_EQ(*word, 1);
  EXPECT_EQ(world().sink.executed, before + 4);
}

// glibc jumps over the prefix while there is one thread: such a jump into the instruction must find the
// original bytes.
TEST_F(AtomicsProgram, CodeMayStillJumpOverThePrefix) {
  std::uint8_t* code = map(-1, PROT_READ | PROT_WRITE | PROT_EXEC);
  const std::uint8_t bytes[] = {
      0x31, 0xc0,                                      // xor %eax, %eax
      0x83, 0xfe, 0x00,                                // cmp $0, %esi
      0x74, 0x01,                                      // je over the prefix
      0xf0, 0x0f, 0xb1, 0x97, 0x00, 0x00, 0x00, 0x00,  // lock cmpxchg %edx, 0(%rdi)
      0xc3,                                            // ret
  };
  std::memcpy(code, bytes, sizeof bytes);
  FreeMemory free(world().ranges);
  Result<PatchReport> report =
      patch(find_sites(code, sizeof bytes, reinterpret_cast<std::uintptr_t>(code)), free);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report.value().traps, 1u);
  const auto function = reinterpret_cast<int (*)(int*, int, int)>(code);
  int* word = shared_word<int>(8);
  const long before = world().sink.executed;
  EXPECT_EQ(function(word, 0, 11), 0);
  EXPECT_EQ(*word, 11);
  EXPECT_EQ(world().sink.executed, before);
  *word = 0;
  EXPECT_EQ(function(word, 1, 12), 0);
  EXPECT_EQ(*word, 12);
  EXPECT_EQ(function(word, 1, 13), 12);
  EXPECT_EQ(world().sink.executed, before + 2);
}

TEST_F(AtomicsProgram, ForeignTrapsAreNotServed) {
  const sig_atomic_t before = foreign_traps;
  ::raise(SIGTRAP);
  asm volatile("int3");
  EXPECT_EQ(foreign_traps, before + 2);
  subject_increment(shared_word<long>(6), 10);
  EXPECT_EQ(foreign_traps, before + 2);
}

void on_fault(int, siginfo_t*, void* context) {
  if (!emulate_at_fault(static_cast<ucontext_t*>(context), world().fault_ranges, world().fault_sink))
    ::_exit(99);
}

// Outside of the subject's section, so not patched.
__attribute__((noinline)) void increment_unpatched(long* word, long count) {
  for (long i = 0; i < count; ++i) {
    __atomic_fetch_add(word, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(word + 1, i, __ATOMIC_RELAXED);
  }
}

TEST_F(AtomicsProgram, UnpatchedOnesAreServedAtTheirFault) {
  World& w = world();
  const int file = ::memfd_create("atomics", 0);
  ASSERT_EQ(::ftruncate(file, area_bytes), 0);
  std::uint8_t* view = map(file, PROT_READ | PROT_WRITE);
  w.protected_ = map(file, PROT_NONE);
  ::close(file);
  w.fault_sink.distance = static_cast<std::uintptr_t>(view - w.protected_);
  const AddressInterval ranges[] = {range_of(w.protected_, area_bytes)};
  w.fault_ranges = SharedRanges::make(ranges).value();
  struct sigaction action {
  }, before{};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  ASSERT_EQ(::sigaction(SIGSEGV, &action, &before), 0);
  constexpr long count = times / 2;
  on_two_threads([&w] { increment_unpatched(reinterpret_cast<long*>(w.protected_), count); });
  EXPECT_EQ(::sigaction(SIGSEGV, &before, nullptr), 0);
  EXPECT_EQ(reinterpret_cast<long*>(view)[0], 2 * count);
  EXPECT_EQ(reinterpret_cast<long*>(view)[1], count * (count - 1));
  EXPECT_EQ(w.fault_sink.executed, 4 * count);
}

}  // namespace
}  // namespace musubi::atomics
