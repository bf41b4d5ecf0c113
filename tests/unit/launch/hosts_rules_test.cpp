// The parts of a launcher of several hosts that start no process: lists of hosts, messages, comparison.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cctype>

#include "base/random.h"
#include "launch/hosts/launcher/host_link.h"
#include "launch/hosts/launcher/hosts_plan.h"
#include "launch/hosts/launcher/refusals.h"
#include "launch/hosts/wire/channel.h"
#include "launch/hosts/wire/orders.h"
#include "launch/job_control.h"
#include "launch/output_sink.h"

namespace musubi::launch {
namespace {

using Hosts = std::vector<std::pair<std::string, std::uint32_t>>;

Hosts read(Result<std::vector<HostSlots>> parsed) {
  Hosts hosts;
  if (!parsed) return {{parsed.error().message, 0}};
  for (const HostSlots& host : parsed.value()) hosts.emplace_back(host.name, host.slots);
  return hosts;
}

TEST(HostList, ListsOfTheCommandLine) {
  EXPECT_EQ(read(parse_hosts("h1:2,h2")), (Hosts{{"h1", 2}, {"h2", 1}}));
  EXPECT_EQ(read(parse_hosts("ada@h1:3,h2,ada@h1")), (Hosts{{"ada@h1", 4}, {"h2", 1}}));
  EXPECT_EQ(read(parse_hosts("[fe80::1]:2,ada@[::1]")), (Hosts{{"fe80::1", 2}, {"ada@::1", 1}}));
  for (const char* wrong :
       {"", "h1,", ":2", "h1:0", "h1:x", "h1:5000", "-x", "a b", "[::1", "::1]:2", "h'1", "h:2:3", "u@-x"}) {
    EXPECT_FALSE(parse_hosts(wrong).ok()) << wrong;
  }
}

// A name may reach a shell: it consists of bytes that no shell interprets.
TEST(HostList, BytesOfNames) {
  const std::string_view allowed = "abcxyzABCXYZ0123456789._@%-";
  for (int byte = 1; byte < 256; ++byte) {
    const std::string name = std::string("h") + static_cast<char>(byte) + "1";
    const bool is_slots_or_next = byte == ':' || byte == ',';
    const bool is_letter = byte < 128 && std::isalnum(byte) != 0;
    const bool expected =
        is_letter || is_slots_or_next || allowed.find(static_cast<char>(byte)) != std::string_view::npos;
    EXPECT_EQ(parse_hosts(name).ok(), expected) << byte;
  }
}

TEST(Printable, KeepsTextAndDropsWhatTerminalsObey) {
  for (const char* text : {"", "plain text\n\tnext", "K\xc3\xb6ln \xe2\x82\xac \xf0\x9f\x98\x80"})
    EXPECT_EQ(printable(text), text);
  EXPECT_EQ(printable("\x1b[2Jclear\r\x07\x7f"), "?[2Jclear???");
  EXPECT_EQ(printable("\xc2\x9b[2J"), "??[2J") << "an escape in one character";
  EXPECT_EQ(printable("\x9b[2J \xc3"), "?[2J ?");
  EXPECT_EQ(printable("\xc0\x9b \xe0\x80\x9b \xf0\x80\x80\x9b"), "?? ??? ????") << "longer than need be";
  for (int byte = 0; byte < 256; ++byte) {
    const std::string shown = printable(std::string(1, static_cast<char>(byte)));
    const bool is_shown = (byte >= ' ' && byte < 0x7f) || byte == '\n' || byte == '\t';
    EXPECT_EQ(shown, is_shown ? std::string(1, static_cast<char>(byte)) : "?") << byte;
  }
}

TEST(HostList, FilesOfBothStyles) {
  EXPECT_EQ(read(parse_host_file("# all\n\nh1 slots=4 max_slots=8\nh2:2 # two\r\n  h3\nh1")),
            (Hosts{{"h1", 5}, {"h2", 2}, {"h3", 1}}));
  EXPECT_EQ(read(parse_host_file("h1\nh2 slot=3\n"))[0].first.find("line 2: 'slot=3'"), 0u);
  EXPECT_FALSE(parse_host_file("# nobody\n").ok());
}

TEST(HostList, RanksFillTheSlotsInOrder) {
  const std::vector<HostSlots> hosts = {{"h1", 2}, {"h2", 3}, {"h3", 1}};
  auto all = place_on_hosts(hosts, std::nullopt, {});
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all.value().size(), 3u);
  EXPECT_EQ(all.value()[1].ranks.first, 2u);
  EXPECT_EQ(all.value()[2].ranks.first, 5u);
  auto some = place_on_hosts(hosts, 3, {});
  ASSERT_TRUE(some.ok());
  ASSERT_EQ(some.value().size(), 2u);
  EXPECT_EQ(some.value()[1].ranks.count, 1u);
  EXPECT_FALSE(place_on_hosts(hosts, 7, {}).ok());
  EXPECT_FALSE(place_on_hosts({{"h1", 4000}, {"h2", 4000}}, std::nullopt, {}).ok());
}

TEST(JobShape, AHostIsOneProcessWithTheThreadsOfItsSlots) {
  const std::vector<HostSlots> hosts = {{"h1", 4}, {"h2", 2}};
  using Threads = std::vector<std::uint32_t>;
  const auto threads = [&](std::optional<std::uint32_t> slots, ProcessRule rule) {
    return threads_of(place_on_hosts(hosts, slots, rule).value());
  };
  EXPECT_EQ(threads({}, {1, 1}), (Threads{4, 2}));
  EXPECT_EQ(threads({}, {1, 8}), (Threads{32, 16}));
  EXPECT_EQ(threads(5, {1, 1}), (Threads{4, 1}));
  EXPECT_EQ(threads(3, {1, 2}), (Threads{6}));
  EXPECT_EQ(threads({}, {3, 1}), (Threads{2, 1, 1, 1, 1}));
  EXPECT_EQ(threads({}, {{}, 3}), (Threads{3, 3, 3, 3, 3, 3}));
  const auto placed = place_on_hosts(hosts, std::nullopt, {3, 1}).value();
  EXPECT_EQ(placed[1].ranks.first, 3u);
  EXPECT_EQ(ranks_of(placed), 5u);
  EXPECT_TRUE(place_on_hosts({{"h1", 4000}, {"h2", 4000}}, std::nullopt, {1, 1}).ok());
}

TEST(Rsh, AShellGetsEveryWordAsItIs) {
  for (const std::string word : {"plain", "a b", "it's", "'", "$HOME `x` \"y\" \\ *\n", ""}) {
    const std::string line = "printf %s " + quoted_for_shell(word);
    std::FILE* const shell = ::popen(line.c_str(), "r");
    char text[100] = {};
    const std::size_t bytes = std::fread(text, 1, sizeof text, shell);
    ::pclose(shell);
    EXPECT_EQ(std::string(text, bytes), word);
  }
}

TEST(Rsh, AnSshAsksNothingAndKeepsItsOptions) {
  EXPECT_EQ(rsh_line("ssh"), "exec ssh -T -o BatchMode=yes -o ConnectTimeout=10 \"$@\"");
  EXPECT_EQ(rsh_line("/usr/bin/ssh -p 22"),
            "exec /usr/bin/ssh -T -o BatchMode=yes -o ConnectTimeout=10 -p 22 \"$@\"");
  EXPECT_EQ(rsh_line("sshx -p 22"), "exec sshx -p 22 \"$@\"");
}

TEST(CompareFacts, EachDifferenceIsALineWithBothHosts) {
  const Fact program{"program /p", "build id 1", "copy it"},
      page{"the page size", "4096 bytes", "use one kind"};
  Fact other = program;
  other.value = "build id 2";
  EXPECT_TRUE(differences({{"h1", {program, page}}, {"h2", {page, program}}}).empty());
  EXPECT_EQ(differences({{"h1", {program, page}}, {"h2", {other, page}}, {"h3", {page}}}),
            (std::vector<std::string>{"host h2: program /p is build id 2, on h1 build id 1; copy it",
                                      "host h3: program /p is not there, on h1 build id 1; copy it"}));
  EXPECT_EQ(differences({{"h1", {page}}, {"h2", {program, page}}}).size(), 1u);
  Fact other_page = page;
  other_page.value = "65536 bytes";
  EXPECT_EQ(differences({{"h1", {program, page}}, {"h2", {other, other_page}}}).size(), 1u)
      << "the needs of another program do not count";
  EXPECT_EQ(differences({{"h1", {program, page}}, {"h2", {program, other_page}}}).size(), 1u);
}

TEST(Refusals, ACauseIsSaidOnceAndNamesItsHosts) {
  EXPECT_TRUE(refusal_lines({{"h1", {}}, {"h2", {}}}, {}).empty());
  const Refusal down{" cannot be reached: no route", "try `ssh h1`"}, old{" has Musubi 0", "install"};
  EXPECT_EQ(
      refusal_lines({{"h1", down}, {"h2", old}, {"h3", {down.cause, "try `ssh h3`"}}, {"h3", down}}, {}),
      (std::vector<std::string>{"host h1 cannot be reached: no route; try `ssh h1` (the same on h3)",
                                "host h2 has Musubi 0; install"}));
  std::vector<RefusingHost> many(12, {"h", down});
  for (std::size_t i = 0; i < many.size(); ++i) many[i].host += std::to_string(i);
  EXPECT_EQ(refusal_lines(many, {}),
            std::vector<std::string>{
                "host h0 cannot be reached: no route; try `ssh h1` (the same on h1, h2, h3, h4, "
                "h5, h6, h7, h8 and 3 more)"});
}

TEST(Refusals, AHostThatDiffersHasOneLine) {
  EXPECT_EQ(refusal_lines({}, {"host h2: a is 1", "host h2: b is 2", "host h2: c is 3", "host h3: a is 1"}),
            (std::vector<std::string>{"host h2: a is 1 (and 2 more; `musubi doctor --hosts` lists them)",
                                      "host h3: a is 1"}));
}

TEST(JobOutcome, ALostHostTakesItsRanksAndIsNamed) {
  JobOutcome verdict(4, false, {"h1", "h1", "h2", "h2"});
  verdict.joined(Rank(2));
  verdict.ended(Rank(2), 7, {false, 0});
  EXPECT_EQ(verdict.take_message(),
            "musubi: rank 2 (pid 7 on h2) exited with status 0 without ending the program; ending the job");
  JobOutcome lost(4, false, {"h1", "h1", "h2", "h2"});
  lost.host_lost({2, 2}, 2, "host h2 is lost");
  EXPECT_EQ(lost.take_message(), "musubi: host h2 is lost; ending the job");
  EXPECT_EQ(lost.exit_status(), 125);
  lost.ended(Rank(0), 1, {true, 15});
  EXPECT_EQ(lost.phase(), Phase::failing);
  lost.ended(Rank(1), 1, {true, 15});
  EXPECT_EQ(lost.phase(), Phase::over);
}

TEST(JobOutcome, BehindAFinishALostHostIsNoFailureUnlessItHadTheLastWord) {
  JobOutcome verdict(2, false, {"h1", "h2"});
  verdict.finished(Rank(0), 3);
  verdict.host_lost({1, 1}, 1, "host h2 is lost");
  EXPECT_EQ(verdict.take_message(), "");
  verdict.ended(Rank(0), 1, {false, 3});
  EXPECT_EQ(verdict.phase(), Phase::over);
  EXPECT_EQ(verdict.exit_status(), 3);
  JobOutcome unfinished(2, false, {"h1", "h2"});
  unfinished.finished(Rank(1), 3);
  unfinished.host_lost({1, 1}, 1, "host h2 is lost");
  EXPECT_NE(unfinished.take_message(), "");
  EXPECT_EQ(unfinished.phase(), Phase::failing);
}

struct Pair {
  Pair(bool preamble) {
    int there[2], back[2];
    EXPECT_EQ(::pipe(there), 0);
    EXPECT_EQ(::pipe(back), 0);
    near = Channel(os::FileDescriptor(back[0]), os::FileDescriptor(there[1]), false, 1'000'000'000);
    far = Channel(os::FileDescriptor(there[0]), os::FileDescriptor(back[1]), preamble, 1'000'000'000);
    raw = there[1];
  }
  Channel near, far;
  int raw;  // the far end reads from it
};

TEST(Channel, MessagesOfAllSizesComeInOrder) {
  Pair pair(true);
  EXPECT_EQ(::write(pair.raw, "hello\n", 6), 6);
  pair.near.send_preamble();
  const std::size_t sizes[] = {0, 1, 70000, 3000000, 5};
  for (const std::size_t size : sizes) {
    pair.near.send(MessageKind::output, static_cast<std::int64_t>(size), std::string(size, 'x'));
  }
  pair.near.send_shared(MessageKind::gathered, std::make_shared<const std::string>(100000, 'y'));
  Message message;
  const auto next = [&] {
    Channel::Got got = Channel::Got::nothing;
    while ((got = pair.far.receive(message)) == Channel::Got::nothing) pair.near.flush();
    return got;
  };
  for (const std::size_t size : sizes) {
    ASSERT_EQ(next(), Channel::Got::message);
    EXPECT_EQ(message.number, static_cast<std::int64_t>(size));
    EXPECT_TRUE(message.body == std::string(size, 'x'));
  }
  ASSERT_EQ(next(), Channel::Got::message);
  EXPECT_EQ(message.body.size(), 100000u);
  EXPECT_TRUE(pair.near.all_sent());
  pair.near.close();
  EXPECT_EQ(next(), Channel::Got::closed);
}

TEST(Channel, WhatIsNoMessageBreaksIt) {
  Pair pair(false);
  const std::string noise(200, '?');
  EXPECT_EQ(::write(pair.raw, noise.data(), noise.size()), 200);
  Message message;
  EXPECT_EQ(pair.far.receive(message), Channel::Got::broken);
  Pair shell(true);
  std::string much(80000, '.');
  ::fcntl(shell.raw, F_SETPIPE_SZ, 1 << 20);
  EXPECT_EQ(::write(shell.raw, much.data(), much.size()), static_cast<ssize_t>(much.size()));
  EXPECT_EQ(shell.far.receive(message), Channel::Got::broken) << "no proxy answers";
  EXPECT_EQ(shell.far.noise().substr(0, 3), "...");
}

TEST(Channel, PatienceIsWhatTheOtherSideAsksFor) {
  Pair pair(false);
  const auto first = pair.far.silent_at_ns();
  ASSERT_TRUE(first.has_value());
  pair.near.send(MessageKind::alive, 60000);
  Message message;
  EXPECT_EQ(pair.far.receive(message), Channel::Got::message);
  EXPECT_GT(*pair.far.silent_at_ns(), *first + 50'000'000'000);
  pair.near.send(MessageKind::alive, 0);
  EXPECT_EQ(pair.far.receive(message), Channel::Got::message);
  EXPECT_FALSE(pair.far.silent_at_ns().has_value());
}

TEST(Orders, ComeAsTheyWereGivenAndDamageIsAnError) {
  JobOrder order;
  order.host = "h2";
  order.program = "/p";
  order.arguments = {"p", "", "\xff\xfe", "a\nb"};
  order.environment = {"A=\x80"};
  order.stack_bytes = ~0ull;
  order.ranks = 4;
  order.here = {2, 2};
  order.welcome = {std::string("\0\xff secret", 9), {0, 0, 1, 1}, {}};
  order.host_timeout = std::chrono::seconds(10);
  const std::string bytes = encode(order);
  auto read_order = decode<JobOrder>(bytes);
  ASSERT_TRUE(read_order.ok());
  EXPECT_EQ(read_order.value().arguments, order.arguments);
  EXPECT_EQ(read_order.value().environment, order.environment);
  EXPECT_EQ(read_order.value().stack_bytes, order.stack_bytes);
  EXPECT_EQ(read_order.value().welcome.secret, order.welcome.secret);
  EXPECT_EQ(read_order.value().welcome.host_of, order.welcome.host_of);
  EXPECT_EQ(read_order.value().here.first, 2u);
  EXPECT_EQ(read_order.value().host_timeout, order.host_timeout);
  Random random(1);
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    EXPECT_FALSE(decode<JobOrder>(bytes.substr(0, cut)).ok());
    std::string damaged = bytes;
    damaged[cut] = static_cast<char>(random.below(256));
    (void)decode<JobOrder>(damaged);  // an error or another order; never a crash
  }
}

TEST(Orders, StatesOfThreadsComeWhole) {
  ThreadState thread;
  thread.rank = Rank(3);
  thread.thread_id = 12;
  thread.wait = trace::Wait::lock;
  thread.object = 1ull << 63;
  thread.looks = 7;
  thread.held = {4, 5};
  thread.stopped = true;
  thread.kernel_call = "0 0x3";
  auto read_states =
      decode<std::vector<RankState>>(encode(std::vector<RankState>{{Rank(3), 11, 2, {thread}}}));
  ASSERT_TRUE(read_states.ok());
  const RankState& state = read_states.value().at(0);
  EXPECT_EQ(state.process, 11);
  EXPECT_EQ(state.without_record, 2u);
  EXPECT_EQ(state.threads.at(0).wait, trace::Wait::lock);
  EXPECT_EQ(state.threads.at(0).object, 1ull << 63);
  EXPECT_EQ(state.threads.at(0).looks, 7u);
  EXPECT_EQ(state.threads.at(0).held, thread.held);
  EXPECT_TRUE(state.threads.at(0).stopped);
  EXPECT_FALSE(state.threads.at(0).sleeps);
}

TEST(Heartbeat, SaysWhenItIsDueAndWhenItWasKeptFromListening) {
  Heartbeat beat(std::chrono::seconds(4), 100);
  EXPECT_TRUE(beat.take_due(100));
  EXPECT_FALSE(beat.take_due(999'999'999));
  EXPECT_TRUE(beat.take_due(1'000'000'100));
  EXPECT_FALSE(beat.was_away(1'000'000'100));
  EXPECT_TRUE(beat.was_away(6'000'000'000));
  EXPECT_FALSE(beat.was_away(6'500'000'000));
}

}  // namespace
}  // namespace musubi::launch
