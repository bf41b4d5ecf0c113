// The parts of the launcher that perform no I/O of their own: rules of ending, lines, frames,
// gathering.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <string>

#include "base/random.h"
#include "bootstrap/local/frame.h"
#include "bootstrap/local/invitation.h"
#include "launch/job_control.h"
#include "launch/local/rank_link.h"
#include "launch/output_relay.h"
#include "launch/user_signals.h"

namespace musubi::launch {
namespace {

using namespace bootstrap::local;

constexpr Ending exited(int status) {
  return {false, status};
}
constexpr Ending killed(int signal) {
  return {true, signal};
}

TEST(JobOutcome, OrderlyEnd) {
  JobOutcome verdict(3, false);
  verdict.finished(Rank(1), 42);
  EXPECT_EQ(verdict.phase(), Phase::finishing);
  verdict.ended(Rank(0), 100, killed(SIGTERM));
  EXPECT_EQ(verdict.phase(), Phase::finishing) << "the rank that finished has all the time it wants";
  verdict.ended(Rank(1), 101, exited(42));
  EXPECT_EQ(verdict.phase(), Phase::leaving);
  verdict.ended(Rank(2), 102, killed(SIGKILL));
  EXPECT_EQ(verdict.phase(), Phase::over);
  EXPECT_EQ(verdict.exit_status(), 42);
  EXPECT_EQ(verdict.take_message(), "");
}

// As a rank does whose process becomes another program.
TEST(JobOutcome, AFinishWithoutStatusTakesThatOfTheProcess) {
  JobOutcome verdict(2, false);
  verdict.finished(Rank(0), -1);
  verdict.ended(Rank(1), 101, exited(0));
  verdict.ended(Rank(0), 100, exited(7));
  EXPECT_EQ(verdict.phase(), Phase::over);
  EXPECT_EQ(verdict.exit_status(), 7);
  EXPECT_EQ(verdict.take_message(), "");
}

TEST(JobOutcome, ARankThatNeverJoinedIsSaidToHaveLostThePreload) {
  JobOutcome verdict(2, false);
  verdict.ended(Rank(0), 100, exited(0));
  EXPECT_EQ(verdict.exit_status(), 1);
  EXPECT_NE(verdict.take_message().find("without joining the job: a program in front has lost LD_PRELOAD"),
            std::string::npos);
  JobOutcome not_found(2, false);
  not_found.ended(Rank(0), 100, exited(127));
  EXPECT_EQ(not_found.take_message(),
            "musubi: rank 0 (pid 100) exited with status 127 without joining the job; ending the job");
}

TEST(JobOutcome, FirstFinishAndFirstFailureSpeakForTheJob) {
  JobOutcome finished(2, false);
  finished.finished(Rank(0), 3);
  finished.finished(Rank(1), 4);
  finished.aborted(Rank(1), 1, 5, "late");
  EXPECT_EQ(finished.exit_status(), 3);
  JobOutcome failed(3, false);
  failed.ended(Rank(2), 4711, killed(SIGKILL));
  failed.aborted(Rank(1), 1, 5, "rank 2 is silent");
  failed.finished(Rank(0), 0);
  failed.ended(Rank(1), 1, exited(5));
  failed.ended(Rank(0), 1, exited(0));
  EXPECT_EQ(failed.phase(), Phase::over);
  EXPECT_EQ(failed.exit_status(), 137);
  EXPECT_EQ(failed.take_message(),
            "musubi: rank 2 (pid 4711) was killed by signal 9 (SIGKILL); ending the job");
  EXPECT_EQ(failed.take_message(), "");
}

TEST(JobOutcome, AnAbortNamesTheHostsOfTheRanksThatItSpeaksOf) {
  const auto said = [](std::string_view reason, std::vector<std::string> hosts) {
    JobOutcome verdict(3, false, std::move(hosts));
    verdict.aborted(Rank(2), 17, 5, reason);
    return verdict.take_message();
  };
  const std::vector<std::string> hosts = {"a", "a", "b"};
  EXPECT_EQ(said("block 17 is lost", hosts),
            "musubi: rank 2 (pid 17 on b): block 17 is lost; ending the job");
  EXPECT_EQ(said("rank 2 has lost rank 0 at 10.0.0.1", hosts),
            "musubi: rank 2 on b has lost rank 0 on a at 10.0.0.1; ending the job");
  EXPECT_EQ(said("rank 1: no port", hosts), "musubi: rank 1 on a: no port; ending the job");
  EXPECT_EQ(
      said("it differs from rank 0's, rank 7, rank x and rank 99999999999", hosts),
      "musubi: rank 2 (pid 17 on b): it differs from rank 0's, rank 7, rank x and rank 99999999999; ending "
      "the job");
  EXPECT_EQ(said("rank 1 has lost rank 0", {}), "musubi: rank 1 has lost rank 0; ending the job");
}

TEST(JobOutcome, RankZeroHasTimeToEndThoughAnotherOneFinishedFirst) {
  JobOutcome verdict(3, false);
  verdict.finished(Rank(2), 7);
  verdict.finished(Rank(1), 7);
  verdict.ended(Rank(2), 102, exited(0));
  EXPECT_EQ(verdict.phase(), Phase::leaving);
  verdict.finished(Rank(0), 7);
  EXPECT_EQ(verdict.phase(), Phase::finishing);
  verdict.ended(Rank(1), 101, exited(0));
  EXPECT_EQ(verdict.phase(), Phase::finishing);
  verdict.ended(Rank(0), 100, exited(0));
  EXPECT_EQ(verdict.phase(), Phase::over);
  EXPECT_EQ(verdict.exit_status(), 7);
  JobOutcome failed(2, false);
  failed.ended(Rank(1), 101, killed(SIGKILL));
  failed.finished(Rank(0), 0);
  EXPECT_EQ(failed.phase(), Phase::failing);
}

struct Killings final : JobControl::Commands {
  void signal_all(int number) override { killed = killed || number == SIGKILL; }
  void signal_rank_zero(int) override {}
  void say(std::string) override {}
  void expect_no_prompt() override {}
  bool killed = false;
};

TEST(JobControl, NobodyIsKilledOnceRankZeroFinishesLate) {
  Killings ranks;
  JobControl control(JobOutcome(2, false), std::chrono::nanoseconds(100), ranks);
  control.outcome().finished(Rank(1), 0);
  control.outcome().ended(Rank(1), 101, exited(0));
  control.follow(1000);
  EXPECT_EQ(control.deadline_ns(), 1100);
  control.outcome().finished(Rank(0), 0);
  control.follow(1050);
  control.follow(2000);
  EXPECT_FALSE(ranks.killed);
}

TEST(JobOutcome, WhoWasKilledForWantOfMemoryIsToldSo) {
  JobOutcome verdict(2, false);
  verdict.memory_ran_out();
  verdict.ended(Rank(1), 7, killed(SIGKILL));
  EXPECT_NE(verdict.take_message().find("SIGKILL) because memory ran out: give the job more memory"),
            std::string::npos);
  JobOutcome crashed(2, false);
  crashed.memory_ran_out();
  crashed.ended(Rank(1), 7, killed(SIGSEGV));
  EXPECT_EQ(crashed.take_message().find("memory"), std::string::npos);
}

TEST(JobOutcome, ExitWithoutFinishIsAFailure) {
  JobOutcome verdict(2, false);
  verdict.ended(Rank(1), 7, exited(0));
  EXPECT_EQ(verdict.phase(), Phase::failing);
  EXPECT_EQ(verdict.exit_status(), 1);
  EXPECT_NE(verdict.take_message(), "");
}

TEST(JobOutcome, CrashInTheExitHandlersIsTheProgramsCrash) {
  JobOutcome verdict(2, false);
  verdict.finished(Rank(0), 0);
  verdict.ended(Rank(0), 7, killed(SIGSEGV));
  EXPECT_EQ(verdict.phase(), Phase::failing);
  EXPECT_EQ(verdict.exit_status(), 139);
}

TEST(JobOutcome, PlainProgramsMayLeaveOneByOne) {
  JobOutcome verdict(2, true);
  verdict.ended(Rank(1), 7, exited(0));
  EXPECT_EQ(verdict.phase(), Phase::running);
  verdict.ended(Rank(0), 7, exited(0));
  EXPECT_EQ(verdict.phase(), Phase::over);
  EXPECT_EQ(verdict.exit_status(), 0);
  JobOutcome joined(2, true);
  joined.ended(Rank(1), 7, exited(0));
  joined.joined(Rank(0));
  EXPECT_EQ(joined.phase(), Phase::failing) << "rank 0 would wait for rank 1 for ever";
}

TEST(JobOutcome, SignalsThatWereAskedForNeedNoLine) {
  JobOutcome verdict(1, false);
  verdict.passed_on(SIGINT);
  verdict.ended(Rank(0), 7, killed(SIGINT));
  EXPECT_EQ(verdict.exit_status(), 130);
  EXPECT_EQ(verdict.take_message(), "");
}

TEST(LineBuffer, OutputIsTheSameHoweverItArrives) {
  Random random(3);
  for (int round = 0; round < 500; ++round) {
    std::string text, plain, labelled, expected = "";
    bool at_start = true;
    for (auto length = random.below(60); length > 0; --length) text += random.chance(20) ? '\n' : 'x';
    for (const char c : text) {
      if (at_start) expected += "[1] ";
      expected += c;
      at_start = c == '\n';
    }
    if (!at_start) expected += '\n';
    LineBuffer without(""), with("[1] ");
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t bytes = 1 + random.below(10);
      without.add(std::string_view(text).substr(at, bytes), plain);
      with.add(std::string_view(text).substr(at, bytes), labelled);
      ASSERT_TRUE(plain.empty() || plain.back() == '\n') << "only whole lines come out";
      at += bytes;
    }
    without.flush(plain);
    with.flush(labelled);
    ASSERT_EQ(plain, text);
    ASSERT_EQ(labelled, expected);
  }
}

TEST(Invitation, FixedWidthAndBack) {
  const std::string small = format_invitation({3, Rank(0), 1, 5, 4, 0});
  const std::string large = format_invitation({123456, Rank(4095), 4096, 2147483647, 654321, 543210, 1});
  EXPECT_EQ(small.size(), large.size());
  auto parsed = parse_invitation(large);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed.value().rank, Rank(4095));
  EXPECT_EQ(parsed.value().process_id, 2147483647);
  EXPECT_EQ(parsed.value().events, 543210);
  EXPECT_EQ(parsed.value().stack_limit, 1u);
}

TEST(Invitation, RubbishIsRefused) {
  const std::string good = format_invitation({3, Rank(1), 2, 5, 4, 0});
  ASSERT_TRUE(parse_invitation(good).ok());
  for (std::size_t cut = 0; cut < good.size(); ++cut)
    EXPECT_FALSE(parse_invitation(good.substr(0, cut)).ok());
  EXPECT_FALSE(parse_invitation(good + "0").ok());
  EXPECT_FALSE(parse_invitation("000003:0002:0002:0000000005:000004:000000:0000000000000000").ok())
      << "rank beyond the ranks";
  EXPECT_FALSE(parse_invitation("000003:0000:0000:0000000005:000004:000000:0000000000000000").ok());
  EXPECT_FALSE(parse_invitation("-00003:0000:0001:0000000005:000004:000000:0000000000000000").ok());
  EXPECT_FALSE(parse_invitation("000003:0000:5000:0000000005:000004:000000:0000000000000000").ok());
}

Frame piece(std::uint64_t total, std::string body) {
  return {FrameKind::gather, 0, total, std::move(body)};
}

TEST(BlobAssembler, RefusesPiecesThatDoNotFit) {
  BlobAssembler assembler(100);
  EXPECT_FALSE(BlobAssembler(100).add(piece(101, "x")));
  EXPECT_FALSE(BlobAssembler(100).add(piece(3, "four")));
  EXPECT_FALSE(BlobAssembler(100).add(piece(3, "")));
  ASSERT_TRUE(assembler.add(piece(4, "ab")));
  EXPECT_FALSE(assembler.add(piece(5, "c"))) << "the total may not change";
  EXPECT_FALSE(assembler.add(piece(4, "cde")));
  ASSERT_TRUE(assembler.add(piece(4, "cd")));
  EXPECT_FALSE(assembler.add(piece(4, "e")));
  EXPECT_EQ(assembler.take(), "abcd");
  ASSERT_TRUE(assembler.add(piece(0, "")));
  EXPECT_TRUE(assembler.complete());
}

TEST(GatherRound, OneBlobOfEachRankPerRound) {
  GatherRound round(RankRange{0, 2});
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(round.add(Rank(1), piece(3, "abc")));
    EXPECT_FALSE(round.add(Rank(1), piece(3, "abc")));
    EXPECT_EQ(round.take_result(), nullptr);
    ASSERT_TRUE(round.add(Rank(0), piece(0, "")));
    const auto result = round.take_result();
    ASSERT_NE(result, nullptr);
    EXPECT_EQ(split_gathered(*result, 2), (std::vector<std::string>{"", "abc"}));
    EXPECT_TRUE(split_gathered(*result, 3).empty());
    EXPECT_TRUE(split_gathered(result->substr(0, result->size() - 1), 2).empty());
  }
}

class Frames : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends_), 0); }
  void TearDown() override {
    for (const int end : ends_) ::close(end);
  }
  int ends_[2] = {-1, -1};
};

TEST_F(Frames, ArriveAsTheyWereSent) {
  const std::string body(frame_body_bytes_max, 'x');
  ASSERT_EQ(send_frame(ends_[0], FrameKind::abort, -7, 99, body, false), 0);
  Frame frame;
  ASSERT_EQ(receive_frame(ends_[1], true, frame), Received::frame);
  EXPECT_EQ(frame.kind, FrameKind::abort);
  EXPECT_EQ(frame.status, -7);
  EXPECT_EQ(frame.total_bytes, 99u);
  EXPECT_EQ(frame.body, body);
  EXPECT_EQ(receive_frame(ends_[1], true, frame), Received::nothing);
}

TEST_F(Frames, RandomBytesAreBrokenAndNothingElse) {
  Random random(11);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes;
    for (auto length = 1 + random.below(100); length > 0; --length)
      bytes += static_cast<char>(random.below(256));
    ASSERT_EQ(::send(ends_[0], bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    Frame frame;
    ASSERT_EQ(receive_frame(ends_[1], true, frame), Received::broken);
  }
}

TEST(Insistence, ACopyOfTheSameSignalIsNotASecondRequest) {
  constexpr std::uint64_t ms = 1'000'000;
  Insistence insistence;
  EXPECT_FALSE(insistence.insists({SIGHUP, false}, 0));
  EXPECT_FALSE(insistence.insists({SIGINT, false}, 1000 * ms));
  EXPECT_FALSE(insistence.insists({SIGINT, false}, 1001 * ms));
  EXPECT_FALSE(insistence.insists({SIGINT, false, true}, 2000 * ms)) << "it was ignored";
  EXPECT_TRUE(insistence.insists({SIGTERM, false}, 2000 * ms));
}

}  // namespace
}  // namespace musubi::launch
