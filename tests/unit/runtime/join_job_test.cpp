// A process learns its job's parameters from its environment.
#include "runtime/join_job.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "config/environment.h"

namespace musubi::runtime {
namespace {

class JoinJobTest : public testing::Test {
 protected:
  JoinJobTest() { ::unsetenv(config::job_variable); }
  ~JoinJobTest() override {
    ::unsetenv(config::job_variable);
    ::unsetenv("MUSUBI_HEAP_BITES");
  }
};

TEST_F(JoinJobTest, WithoutAnInvitationAProcessIsAJobOfOneRank) {
  EXPECT_FALSE(is_invited());
  EXPECT_FALSE(is_below_invited());
  auto joined = join_job();
  ASSERT_TRUE(joined.ok());
  EXPECT_EQ(joined.value()->self(), Rank{0});
  EXPECT_EQ(joined.value()->ranks(), 1U);
  auto all = joined.value()->all_gather("blob");
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all.value(), std::vector<std::string>{"blob"});
}

TEST_F(JoinJobTest, WhatIsNoInvitationForThisProcessIsLeftAlone) {
  ::setenv(config::job_variable, "of no process", 1);
  EXPECT_FALSE(is_invited());
  EXPECT_TRUE(is_below_invited());
  auto joined = join_job();
  ASSERT_TRUE(joined.ok());
  EXPECT_EQ(joined.value()->ranks(), 1U);
  EXPECT_TRUE(is_below_invited());
}

TEST_F(JoinJobTest, AMisspeltSettingIsAnError) {
  ASSERT_TRUE(read_settings().ok());
  ::setenv("MUSUBI_HEAP_BITES", "1GiB", 1);
  auto settings = read_settings();
  ASSERT_FALSE(settings.ok());
  EXPECT_NE(settings.error().message.find("HEAP_BITES"), std::string::npos) << settings.error().message;
}

TEST_F(JoinJobTest, AJobOfOneRankEndsWithItsStatusAndOneLine) {
  auto joined = join_job();
  ASSERT_TRUE(joined.ok());
  EXPECT_EXIT(joined.value()->abort(7, "no memory"), testing::ExitedWithCode(7), "^musubi: no memory\n$");
}

}  // namespace
}  // namespace musubi::runtime
