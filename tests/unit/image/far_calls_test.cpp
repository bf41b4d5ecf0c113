// Calls that run at another rank: here the other rank is the same process, and its files are real ones.
#include "image/objects/far_calls.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "looped_runtime.h"

namespace musubi::image {
namespace {

enum Number : std::uint16_t { reads, writes, writes_parts, doubles, stays };

std::int64_t run_read(const std::uint64_t* words) noexcept {
  return ::pread(static_cast<int>(words[0]), reinterpret_cast<void*>(words[1]), words[2],
                 static_cast<off_t>(words[3]));
}
std::int64_t run_write(const std::uint64_t* words) noexcept {
  return ::write(static_cast<int>(words[0]), reinterpret_cast<const void*>(words[1]), words[2]);
}
// An argument and a result at one address.
std::int64_t run_double(const std::uint64_t* words) noexcept {
  int& value = *reinterpret_cast<int*>(words[0]);
  value *= 2;
  return value;
}

constexpr FarFunction functions[] = {{&run_read, FarFunction::Transfer::reading, true, reads},
                                     {&run_write, FarFunction::Transfer::writing, false, writes},
                                     {&run_write, FarFunction::Transfer::none, false, writes},
                                     {&run_double, FarFunction::Transfer::none, false, doubles},
                                     {nullptr, FarFunction::Transfer::none, false, stays}};

std::uint64_t word(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

class FarCallsTest : public testing::Test {
 protected:
  FarCallsTest() {
    far.start(runtime);
    far.set_functions(functions);
    std::iota(data.begin(), data.end(), '\0');
    EXPECT_GE(file, 0);
  }
  ~FarCallsTest() override { ::close(file); }

  std::int64_t write(const void* from, std::size_t bytes) {
    const std::uint64_t words[] = {static_cast<std::uint64_t>(file), word(from), bytes};
    FarCall call(writes, words);
    call.add(from, bytes, false);
    return far.run(Rank{1}, call, true);
  }
  std::int64_t read(void* to, std::size_t bytes, std::uint64_t offset, bool is_regular) {
    const std::uint64_t words[] = {static_cast<std::uint64_t>(file), word(to), bytes, offset};
    FarCall call(reads, words);
    call.add(to, bytes, true);
    return far.run(Rank{1}, call, is_regular);
  }

  LoopedRuntime runtime;
  FarCalls far;
  std::vector<char> data = std::vector<char>(10'000);
  std::vector<char> found = std::vector<char>(10'000, 'x');
  int file = ::open("/tmp", O_TMPFILE | O_RDWR, 0600);
};

TEST_F(FarCallsTest, MovesWhatNoMessageHoldsInPieces) {
  EXPECT_EQ(write(data.data(), data.size()), 10'000);
  EXPECT_EQ(runtime.calls, 6);  // calls of 1,808 bytes
  EXPECT_LT(runtime.sent_bytes, 10'000u + 6 * 128);
  EXPECT_EQ(read(found.data(), found.size(), 0, true), 10'000);
  EXPECT_EQ(found, data);
  EXPECT_EQ(runtime.calls, 12);
}

TEST_F(FarCallsTest, StopsAtTheEndAndLeavesTheRestOfTheMemoryAlone) {
  ASSERT_EQ(write(data.data(), 5'000), 5'000);
  EXPECT_EQ(read(found.data(), found.size(), 1'000, true), 4'000);
  EXPECT_EQ(std::memcmp(found.data(), data.data() + 1'000, 4'000), 0);
  EXPECT_EQ(found[4'000], 'x');
}

// Pipes: more might not be available yet.
TEST_F(FarCallsTest, ReadsOnePieceOfWhatIsNoRegularFile) {
  ASSERT_EQ(write(data.data(), 5'000), 5'000);
  EXPECT_EQ(read(found.data(), found.size(), 0, false), 1'808);
}

TEST_F(FarCallsTest, TellsOfErrors) {
  ::close(file);
  EXPECT_EQ(write(data.data(), 10), -1);
  EXPECT_EQ(errno, EBADF);
  file = ::open("/tmp", O_TMPFILE | O_RDWR, 0600);
}

TEST_F(FarCallsTest, SendsPartsAsOnePiece) {
  const iovec parts[] = {{data.data(), 3'000}, {nullptr, 0}, {data.data() + 7'000, 3'000}};
  const std::uint64_t words[] = {static_cast<std::uint64_t>(file), word(parts), 3};
  FarCall call(writes_parts, words);
  call.add_parts(parts, false);
  EXPECT_EQ(far.run(Rank{1}, call, true), 6'000);
  EXPECT_EQ(read(found.data(), found.size(), 0, true), 6'000);
  EXPECT_EQ(std::memcmp(found.data() + 3'000, data.data() + 7'000, 3'000), 0);
}

TEST_F(FarCallsTest, SendsASmallResultAsAnArgumentToo) {
  int value = 21;
  const std::uint64_t words[] = {word(&value)};
  FarCall call(doubles, words);
  call.add(&value, sizeof value, true);
  EXPECT_EQ(far.run(Rank{1}, call, false), 42);
  EXPECT_EQ(value, 42);
}

TEST_F(FarCallsTest, RefusesWhatCannotTravel) {
  int value = 1;
  const std::uint64_t words[] = {word(&words)};
  FarCall nested(doubles, words);
  nested.add(&value, sizeof value, true);  // no argument points to it
  EXPECT_EQ(far.run(Rank{1}, nested, false), -1);
  EXPECT_EQ(errno, EOPNOTSUPP);
  EXPECT_EQ(far.run(Rank{1}, FarCall(stays, words), false), -1);
  EXPECT_EQ(errno, EOPNOTSUPP);
  EXPECT_EQ(runtime.calls, 0);
}

}  // namespace
}  // namespace musubi::image
