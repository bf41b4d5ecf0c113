// Recordings of programs on simulated nodes: touches are counted, values are checked, races are found.
#include "simulator/recorded.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "simulator/scale.h"

namespace musubi::sim {
namespace {

// Four blocks at 0x100000, first at rank 0.
const std::string segment = "segment 1048576 16384 4096 0 0 0\n";

class RecordedTest : public testing::Test {
 protected:
  // One text for each rank, without its first and last line.
  Result<Recording> record(const std::vector<std::string>& ranks) {
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      std::ofstream(path_ + "." + std::to_string(rank)) << "ranks " << ranks.size() << ' ' << rank << '\n'
                                                        << segment << ranks[rank] << "end\n";
    }
    return Recording::read(path_);
  }
  ScaleResult replay(const std::vector<std::string>& ranks) {
    const auto recording = record(ranks);
    EXPECT_TRUE(recording.ok());
    ScaleRun run;
    run.recording = &recording.value();
    run.nodes = static_cast<std::uint32_t>(ranks.size());
    run.iterations = 1;
    run.model = fabric::sim::LatencyModel::infiniband();
    return measure(run);
  }
  const std::string path_ = testing::TempDir() + "recording";
};

const std::string writes = "W 1048576 16384\nc 1048576 16384\nbarrier\n";

TEST_F(RecordedTest, FaultsStopTheProgramAndRangesDoNot) {
  const ScaleResult faults = replay({writes, "barrier\nr 1048576 1\nr 1056768 1\n"});
  EXPECT_EQ(faults.violation, "");
  EXPECT_EQ(faults.stops * 2, 2);
  const ScaleResult range = replay({writes, "barrier\nR 1048576 16384\n"});
  EXPECT_EQ(range.violation, "");
  EXPECT_EQ(range.stops, 0);
  EXPECT_EQ(range.fetches * 2, 4);
  EXPECT_GE(range.bytes * 2, 16384);
  EXPECT_LT(range.virtual_ns,
            replay({writes, "barrier\nr 1048576 1\nr 1052672 1\nr 1056768 1\nr 1060864 1\n"}).virtual_ns);
}

TEST_F(RecordedTest, OverwrittenBlocksAreNotFetched) {
  const std::string changes = "c 1048576 16384\n";
  EXPECT_GE(replay({writes, "barrier\nW 1048576 16384\n" + changes}).bytes * 2, 16384);
  EXPECT_LT(replay({writes, "barrier\nO 1048576 16384\n" + changes}).bytes * 2, 4096);
}

TEST_F(RecordedTest, TwoWritesThatNothingOrdersAreARace) {
  const auto write = [](const std::string& changed) { return "w 1048576 1\nc " + changed + "\nbarrier\n"; };
  EXPECT_NE(replay({write("1048576 8"), write("1048580 4")}).violation.find("has a race"), std::string::npos);
  EXPECT_EQ(replay({write("1048576 8"), write("1048584 4")}).violation, "");
}

TEST_F(RecordedTest, LocksOrderWrites) {
  const std::string adds = "lock 3\nw 1048576 1\nc 1048576 4\nunlock 3\n";
  EXPECT_EQ(replay({adds + adds, adds, adds + adds, adds}).violation, "");
}

TEST_F(RecordedTest, AReleaseOrdersWritesForItsAcquire) {
  const std::string writes_word = "w 1048576 1\nc 1048576 4\n";
  EXPECT_EQ(replay({writes_word + "release 9\n", "acquire 9\n" + writes_word}).violation, "");
  EXPECT_FALSE(record({"release 9\n", ""}).ok());
}

TEST_F(RecordedTest, TheSameRecordingTakesTheSameCourse) {
  const std::vector<std::string> ranks{writes, "barrier\nR 1048576 16384\n"};
  EXPECT_EQ(replay(ranks).hash, replay(ranks).hash);
}

TEST_F(RecordedTest, WhatARecordingDoesNotKnowIsRefused) {
  EXPECT_TRUE(record({"barrier\n", "barrier\n"}).ok());
  EXPECT_FALSE(record({"barrier\n", ""}).ok());
  EXPECT_FALSE(record({"other\n", ""}).ok());
  EXPECT_FALSE(record({"unlock 2\n", ""}).ok());
  EXPECT_FALSE(record({"lock 2\n", ""}).ok());
  EXPECT_FALSE(record({"", "end\n"}).ok());
}

}  // namespace
}  // namespace musubi::sim
