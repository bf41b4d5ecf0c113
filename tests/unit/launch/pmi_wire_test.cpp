// PMI-1 against a launcher whose answers the test chooses.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "launch/pmi/wire.h"

namespace musubi::launch {
namespace {

// Reads one line for each answer, sends the answer, and hangs up after the last.
class Launcher {
 public:
  explicit Launcher(std::vector<std::string> answers) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    client_ = os::FileDescriptor(ends[0]);
    thread_ = std::thread([this, answers = std::move(answers), end = os::FileDescriptor(ends[1])] {
      for (const std::string& answer : answers) {
        if (!read_line(end.number())) return;
        // Sent in two pieces: one read need not return a whole line.
        const std::size_t half = answer.size() / 2;
        (void)::send(end.number(), answer.data(), half, MSG_NOSIGNAL);
        (void)::send(end.number(), answer.data() + half, answer.size() - half, MSG_NOSIGNAL);
      }
    });
  }
  ~Launcher() { join(); }

  Result<std::unique_ptr<KeyValues>> joined() { return PmiWire::join(std::move(client_), 2, 5); }
  const std::string& heard() {
    join();
    return heard_;
  }

 private:
  bool read_line(int file) {
    char letter = 0;
    while (::read(file, &letter, 1) == 1) {
      heard_ += letter;
      if (letter == '\n') return true;
    }
    return false;
  }
  void join() {
    if (thread_.joinable()) thread_.join();
  }

  os::FileDescriptor client_;
  std::string heard_;
  std::thread thread_;
};

const std::string init = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n";
const std::string named = "cmd=my_kvsname kvsname=kvs_7\n";

TEST(PmiWire, SpeaksAsPublished) {
  Launcher launcher({init, named, "cmd=put_result rc=0 msg=success\n", "cmd=barrier_out\n",
                     "cmd=get_result rc=0 msg=success value=a=b,c\n", "cmd=finalize_ack\n"});
  auto joined = launcher.joined();
  ASSERT_TRUE(joined.ok()) << joined.error().message;
  KeyValues& values = *joined.value();
  EXPECT_EQ(values.rank(), 2u);
  EXPECT_EQ(values.ranks(), 5u);
  EXPECT_TRUE(values.put("card", "x,y").ok());
  EXPECT_TRUE(values.fence().ok());
  auto got = values.get(4, "card");
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got.value(), "a=b,c");
  EXPECT_TRUE(values.leave().ok());
  EXPECT_EQ(launcher.heard(),
            "cmd=init pmi_version=1 pmi_subversion=1\ncmd=get_my_kvsname\n"
            "cmd=put kvsname=kvs_7 key=musubi-2-card value=x,y\ncmd=barrier_in\n"
            "cmd=get kvsname=kvs_7 key=musubi-4-card\ncmd=finalize\n");
}

TEST(PmiWire, ALauncherOfAnotherVersionIsRefused) {
  for (const char* answer : {"cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=-1\n", "nonsense\n",
                             "\n", "cmd=maxes kvsname_max=256\n"}) {
    Launcher launcher({answer});
    auto joined = launcher.joined();
    ASSERT_FALSE(joined.ok()) << answer;
    EXPECT_NE(joined.error().message.find("of PMI-1, which is not understood"), std::string::npos);
  }
}

TEST(PmiWire, AValueThatIsNotThereIsAnError) {
  for (const char* answer :
       {"cmd=get_result rc=-1 msg=key_not_found\n", "cmd=get_result rc=0 msg=success\n"}) {
    Launcher launcher({init, named, answer});
    auto joined = launcher.joined();
    ASSERT_TRUE(joined.ok());
    EXPECT_FALSE(joined.value()->get(0, "door").ok()) << answer;
  }
}

TEST(PmiWire, ALauncherThatEndsIsAnErrorAndNoSignal) {
  Launcher launcher({init, named});
  auto joined = launcher.joined();
  ASSERT_TRUE(joined.ok());
  launcher.heard();
  for (int i = 0; i < 2; ++i) {
    auto fence = joined.value()->fence();
    ASSERT_FALSE(fence.ok());
    EXPECT_NE(fence.error().message.find("in the middle of PMI-1"), std::string::npos);
  }
}

TEST(PmiWire, ALineWithoutAnEndIsNoEndlessMemory) {
  Launcher launcher({init, named, std::string(1 << 20, 'x')});
  auto joined = launcher.joined();
  ASSERT_TRUE(joined.ok());
  EXPECT_FALSE(joined.value()->fence().ok());
}

}  // namespace
}  // namespace musubi::launch
