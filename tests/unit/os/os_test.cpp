#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>

#include "os/clock.h"
#include "os/cpu.h"
#include "os/futex.h"
#include "os/lines.h"
#include "os/memory.h"

namespace musubi::os {
namespace {

constexpr std::size_t bytes = 1 << 20;

TEST(Memory, AMemoryFileIsSparseAndCloseOnExecUnlessKept) {
  auto file = create_memory_file("musubi-test", std::size_t{1} << 40);
  ASSERT_TRUE(file.ok());
  struct stat status {};
  ASSERT_EQ(::fstat(file.value().number(), &status), 0);
  EXPECT_EQ(status.st_size, off_t{1} << 40);
  EXPECT_EQ(status.st_blocks, 0);
  EXPECT_NE(::fcntl(file.value().number(), F_GETFD) & FD_CLOEXEC, 0);
  auto kept = create_memory_file("musubi-test", bytes, AcrossExec::kept);
  EXPECT_EQ(::fcntl(kept.value().number(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(Memory, DescriptorsCloseThemselvesOnce) {
  int number = -1;
  {
    auto file = create_memory_file("musubi-test", bytes);
    number = file.value().number();
    FileDescriptor moved = std::move(file).value();
    EXPECT_EQ(moved.number(), number);
    EXPECT_GE(::fcntl(number, F_GETFD), 0);
  }
  EXPECT_EQ(::fcntl(number, F_GETFD), -1);
  FileDescriptor empty;
  empty.close();
  EXPECT_EQ(empty.number(), -1);
}

TEST(Memory, TwoMappingsOfAFileShowTheSameBytes) {
  auto file = create_memory_file("musubi-test", bytes);
  const int number = file.value().number();
  auto whole = Mapping::anywhere(bytes, Protection::read_write, {number});
  auto second_page = Mapping::anywhere(page_bytes(), Protection::read, {number, page_bytes()});
  ASSERT_TRUE(whole.ok() && second_page.ok());
  whole.value().data()[page_bytes() + 5] = std::byte{9};
  EXPECT_EQ(second_page.value().data()[5], std::byte{9});
  EXPECT_EQ(second_page.value().bytes(), page_bytes());
}

TEST(Memory, AHoleGivesItsPagesBackAndReadsAsZeros) {
  auto file = create_memory_file("musubi-test", bytes);
  const int number = file.value().number();
  auto mapped = Mapping::anywhere(bytes, Protection::read_write, {number});
  ASSERT_TRUE(mapped.ok());
  std::memset(mapped.value().data(), 1, bytes);
  struct stat before {
  }, after{};
  ASSERT_EQ(::fstat(number, &before), 0);
  ASSERT_TRUE(punch_hole(file.value(), 2 * page_bytes(), 3 * page_bytes()));
  ASSERT_EQ(::fstat(number, &after), 0);
  EXPECT_EQ((before.st_blocks - after.st_blocks) * 512, 3 * static_cast<off_t>(page_bytes()));
  EXPECT_EQ(after.st_size, before.st_size);
  const std::byte* page = mapped.value().data() + page_bytes();
  EXPECT_EQ(page[page_bytes() - 1], std::byte{1});
  EXPECT_EQ(page[page_bytes()], std::byte{0});
  EXPECT_EQ(page[4 * page_bytes() - 1], std::byte{0});
  EXPECT_EQ(page[4 * page_bytes()], std::byte{1});
  FileDescriptor none;
  EXPECT_FALSE(punch_hole(none, 0, page_bytes()));
}

TEST(Memory, MappingAtAnAddressReplacesNothing) {
  auto reserved = Mapping::anywhere(bytes, Protection::none);
  ASSERT_TRUE(reserved.ok());
  std::byte* address = reserved.value().data();
  auto refused = Mapping::at(address, bytes, Protection::read_write);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("choose another base address"), std::string::npos);
  reserved.value().unmap();
  auto taken = Mapping::at(address, bytes, Protection::read_write);
  ASSERT_TRUE(taken.ok());
  EXPECT_EQ(taken.value().data(), address);
}

TEST(Memory, MapOverReplacesAPartOfAReservation) {
  auto file = create_memory_file("musubi-test", bytes);
  auto reserved = Mapping::anywhere(bytes, Protection::none);
  std::byte* middle = reserved.value().data() + page_bytes();
  ASSERT_TRUE(map_over(middle, page_bytes(), Protection::read_write, {file.value().number()}).ok());
  *middle = std::byte{3};
  std::byte read_back{};
  ASSERT_EQ(::pread(file.value().number(), &read_back, 1, 0), 1);
  EXPECT_EQ(read_back, std::byte{3});
  ASSERT_TRUE(protect(middle, page_bytes(), Protection::none).ok());
  EXPECT_DEATH(*middle = std::byte{4}, "");
}

TEST(Memory, MappingsUnmapThemselvesUnlessReleased) {
  std::byte* address = nullptr;
  {
    auto mapping = Mapping::anywhere(bytes, Protection::read_write);
    Mapping moved = std::move(mapping).value();
    address = moved.data();
  }
  auto again = Mapping::at(address, bytes, Protection::read_write);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again.value().release(), address);
  EXPECT_FALSE(again.value());
  EXPECT_FALSE(Mapping::at(address, bytes, Protection::read_write).ok());
  ::munmap(address, bytes);
}

TEST(Memory, ErrorsNameTheCauseAndTheRemedy) {
  auto crooked = Mapping::anywhere(bytes, Protection::read_write, {.file = 0, .offset = 1});
  ASSERT_FALSE(crooked.ok());
  EXPECT_NE(crooked.error().message.find("mmap"), std::string::npos);
  auto nobody = open_file_of_process(::getpid(), 99999);
  ASSERT_FALSE(nobody.ok());
  EXPECT_NE(nobody.error().message.find("as one user"), std::string::npos);
}

TEST(Memory, APeersFileIsReachedThroughProc) {
  auto file = create_memory_file("musubi-test", bytes);
  auto mine = Mapping::anywhere(bytes, Protection::read_write, {file.value().number()});
  const pid_t parent = ::getpid();
  const int number = file.value().number();
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    file.value().close();  // reached through the parent, not by inheritance
    auto opened = open_file_of_process(parent, number);
    if (!opened.ok()) ::_exit(1);
    auto theirs = Mapping::anywhere(bytes, Protection::read_write, {opened.value().number()});
    if (!theirs.ok()) ::_exit(2);
    theirs.value().data()[77] = std::byte{77};
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(mine.value().data()[77], std::byte{77});
}

TEST(Futex, DoesNotSleepOnAnotherValue) {
  const std::atomic<std::uint32_t> word{5};
  errno = 1234;
  EXPECT_EQ(futex_wait(word, 4), FutexOutcome::changed);
  EXPECT_EQ(errno, 1234) << "errno belongs to the interrupted program";
}

TEST(Futex, TimesOut) {
  const std::atomic<std::uint32_t> word{0};
  const std::uint64_t begin_ns = monotonic_ns();
  EXPECT_EQ(futex_wait(word, 0, 2'000'000), FutexOutcome::timed_out);
  EXPECT_GE(monotonic_ns() - begin_ns, 2'000'000u);
  EXPECT_EQ(futex_wake(word), 0u);
}

TEST(Memory, PagesThatNobodyTouchedAreKnown) {
  constexpr std::size_t pages = 100'000;
  const std::size_t page = page_bytes();
  auto memory = Mapping::anywhere(pages * page, Protection::read_write);
  ASSERT_TRUE(memory.ok());
  std::byte* const begin = memory.value().data();
  for (const std::size_t i : {std::size_t{0}, std::size_t{40'000}, pages - 1}) begin[i * page] = std::byte{1};
  const std::vector<bool> touched = touched_pages(begin, pages);
  ASSERT_EQ(touched.size(), pages);
  // Huge pages may also allocate neighbouring pages, but far fewer than all.
  EXPECT_TRUE(touched[0] && touched[40'000] && touched[pages - 1]);
  EXPECT_LT(std::count(touched.begin(), touched.end(), true), 3 * 512 + 1);
  EXPECT_TRUE(touched_pages(begin, 0).empty());
}

TEST(Futex, WakesThreadsOfOtherProcesses) {
  auto memory = create_memory_file("musubi-test", 4096);
  auto mapping = Mapping::anywhere(4096, Protection::read_write, {memory.value().number()});
  auto* word = reinterpret_cast<std::atomic<std::uint32_t>*>(mapping.value().data());
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    while (word->load() == 0) futex_wait(*word, 0);
    ::_exit(static_cast<int>(word->load()));
  }
  while (futex_wake(*word) == 0) ::sched_yield();  // until it really sleeps; it then finds 0 and sleeps again
  word->store(6);
  futex_wake(*word);
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 6);
}

TEST(Cpu, CountsTheCoresOfTheAffinityMask) {
  const std::uint32_t all = allowed_cores();
  EXPECT_GE(all, 1u);
  std::thread([] {
    cpu_set_t mine;
    ASSERT_EQ(::sched_getaffinity(0, sizeof mine, &mine), 0);
    int first = 0;
    while (!CPU_ISSET(first, &mine)) ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(allowed_cores(), 1u);
  }).join();
  EXPECT_EQ(allowed_cores(), all);
  pause_instruction();
}

TEST(Lines, AreWrittenWholeOrNotAtAll) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const FileDescriptor reader(ends[0]), writer(ends[1]);
  const std::string line(400, 'x');
  std::size_t written = 0;
  while (write_line_at_once(writer.number(), line)) ++written;  // ends: a write does not wait for readers
  EXPECT_GE(written, 10u);
  std::string got(4096, ' ');
  std::size_t bytes_read = 0;
  ::fcntl(reader.number(), F_SETFL, O_NONBLOCK);
  for (ssize_t count = 0; (count = ::read(reader.number(), got.data(), got.size())) > 0;)
    bytes_read += static_cast<std::size_t>(count);
  EXPECT_EQ(bytes_read, written * line.size());
  EXPECT_TRUE(write_line_at_once(writer.number(), line));
}

TEST(Clock, NeverGoesBack) {
  std::uint64_t last = monotonic_ns();
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t now = monotonic_ns();
    ASSERT_GE(now, last);
    last = now;
  }
}

}  // namespace
}  // namespace musubi::os
