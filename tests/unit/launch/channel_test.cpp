// Messages of launcher and proxy over a link that changes, drops or repeats bytes: each such message is
// refused before any byte of it is used, and neither end waits for a rest that does not come.
#include "launch/hosts/wire/channel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include "base/random.h"
#include "launch/hosts/wire/message.h"
#include "os/clock.h"

namespace musubi::launch {
namespace {

constexpr std::uint64_t patience_ns = 2'000'000'000;
constexpr std::string_view secret = "a secret of thirty-two bytes ...";

enum class Kind { sums, cipher };

struct Ends {
  os::FileDescriptor in, out;
};
Ends make_pair() {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  return {os::FileDescriptor(ends[0]), os::FileDescriptor(ends[1])};
}

// The proxy's messages pass through the test to the launcher's end.
class Link {
 public:
  explicit Link(Kind kind, std::uint32_t rank_of_proxy = 3) {
    Ends sent = make_pair(), taken = make_pair(), nothing = make_pair(), other_nothing = make_pair();
    const ChannelKeys keys = channel_keys(secret, 3), of_proxy = channel_keys(secret, rank_of_proxy);
    const bool hides = kind == Kind::cipher;
    proxy = Channel(std::move(nothing.in), std::move(sent.in), false, patience_ns,
                    hides ? ChannelSeal(of_proxy.to_launcher, of_proxy.to_proxy) : ChannelSeal());
    launcher = Channel(std::move(taken.out), std::move(other_nothing.in), true, patience_ns,
                       hides ? ChannelSeal(keys.to_proxy, keys.to_launcher) : ChannelSeal());
    from_proxy_ = std::move(sent.out);
    to_launcher_ = std::move(taken.in);
    kept_[0] = std::move(nothing.out);
    kept_[1] = std::move(other_nothing.out);
    ::fcntl(from_proxy_.number(), F_SETFL, O_NONBLOCK);
  }
  std::string take_sent() {
    std::string text;
    char bytes[4096];
    for (ssize_t count; (count = ::read(from_proxy_.number(), bytes, sizeof bytes)) > 0;) {
      text.append(bytes, static_cast<std::size_t>(count));
      proxy.flush();
    }
    return text;
  }
  void bring(std::string_view text) {
    ASSERT_EQ(::write(to_launcher_.number(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }

  Channel proxy, launcher;

 private:
  os::FileDescriptor from_proxy_, to_launcher_, kept_[2];
};

std::string body_of(std::size_t number) {
  return std::string(number * 37 % 900, static_cast<char>('a' + number % 26));
}
constexpr std::array kinds_said{MessageKind::hello, MessageKind::facts, MessageKind::output,
                                MessageKind::seen, MessageKind::joined};

void say(Channel& channel, std::size_t number) {
  const MessageKind kind = kinds_said[number % kinds_said.size()];
  const std::string body = kind == MessageKind::joined ? "" : body_of(number);
  if (number % 3 == 0 && !body.empty()) {
    channel.send_shared(kind, std::make_shared<const std::string>(body));
  } else {
    channel.send(kind, static_cast<std::int64_t>(number), body);
  }
}
bool is_said(const Message& message, std::size_t number) {
  const MessageKind kind = kinds_said[number % kinds_said.size()];
  return message.kind == kind && message.body == (kind == MessageKind::joined ? "" : body_of(number));
}

class ChannelOfKind : public testing::TestWithParam<Kind> {};

TEST_P(ChannelOfKind, BringsWhatIsSaidHoweverItIsCut) {
  Random random(1);
  Link link(GetParam());
  link.proxy.send_preamble();
  constexpr std::size_t messages = 200;
  for (std::size_t i = 0; i < messages; ++i) say(link.proxy, i);
  std::string text = "a shell's greeting\n" + link.take_sent();
  std::size_t come = 0;
  for (Message message; !text.empty();) {
    const std::size_t part = std::min<std::size_t>(text.size(), 1 + random.below(700));
    link.bring(std::string_view(text).substr(0, part));
    text.erase(0, part);
    while (link.launcher.receive(message) == Channel::Got::message)
      ASSERT_TRUE(is_said(message, come++)) << come;
  }
  EXPECT_EQ(come, messages);
}

TEST_P(ChannelOfKind, EveryFlippedBitIsFound) {
  Random random(2);
  constexpr unsigned flips = 500;
  for (unsigned flip = 0; flip < flips; ++flip) {
    Link link(GetParam());
    link.proxy.send_preamble();
    const std::size_t begin = link.take_sent().size();
    ASSERT_EQ(begin, Channel::preamble.size());
    link.bring(Channel::preamble);
    constexpr std::size_t messages = 8;
    for (std::size_t i = 0; i < messages; ++i) say(link.proxy, i + flip);
    std::string text = link.take_sent();
    text[random.below(text.size())] ^= static_cast<char>(1u << random.below(8));
    link.bring(text);
    Message message;
    std::size_t come = 0;
    Channel::Got got;
    while ((got = link.launcher.receive(message)) == Channel::Got::message) {
      ASSERT_TRUE(is_said(message, flip + come++)) << "flip " << flip;
    }
    ASSERT_EQ(got, Channel::Got::broken) << "flip " << flip;
    ASSERT_EQ(std::string_view(link.launcher.trouble()).find("was damaged on its way"), 0u);
    ASSERT_LT(come, messages);
  }
}

TEST_P(ChannelOfKind, MessagesThatAreMissingOrRepeatedAreFound) {
  for (const bool repeats : {false, true}) {
    Link link(GetParam());
    link.bring(Channel::preamble);
    std::vector<std::string> texts;
    for (unsigned i = 0; i < 3; ++i) {
      link.proxy.send(MessageKind::output, 0, "line\n");
      texts.push_back(link.take_sent());
    }
    link.bring(texts[0] + (repeats ? texts[0] : texts[2]));
    Message message;
    EXPECT_EQ(link.launcher.receive(message), Channel::Got::message);
    EXPECT_EQ(link.launcher.receive(message), Channel::Got::broken);
  }
}

// While signs of life arrive inside of bytes taken for the rest of a message, for example.
TEST_P(ChannelOfKind, AMessageThatHasBegunMustEnd) {
  Link link(GetParam());
  link.bring(Channel::preamble);
  link.proxy.send(MessageKind::output, 0, "a line\n");
  const std::string text = link.take_sent();
  link.bring(text.substr(0, text.size() - 2));
  Message message;
  EXPECT_EQ(link.launcher.receive(message), Channel::Got::nothing);
  const auto first = link.launcher.silent_at_ns();
  ASSERT_TRUE(first.has_value());
  link.bring(text.substr(text.size() - 2, 1));
  EXPECT_EQ(link.launcher.receive(message), Channel::Got::nothing);
  EXPECT_EQ(link.launcher.silent_at_ns(), first) << "it counts from the beginning";
  link.bring(text.substr(text.size() - 1));
  EXPECT_EQ(link.launcher.receive(message), Channel::Got::message);
  EXPECT_GT(*link.launcher.silent_at_ns(), *first);
}

INSTANTIATE_TEST_SUITE_P(Kinds, ChannelOfKind, testing::Values(Kind::sums, Kind::cipher));

TEST(Channel, ACipherHidesWhatIsSaid) {
  for (const Kind kind : {Kind::sums, Kind::cipher}) {
    Link link(kind);
    link.proxy.send(MessageKind::order, 0, "TOKEN=4711");
    EXPECT_EQ(link.take_sent().find("TOKEN=4711") != std::string::npos, kind == Kind::sums);
  }
}

// Made with the job's secret, but for the channel of another rank; made without a key.
TEST(Channel, ACipherRefusesOrdersOfOthers) {
  Link other(Kind::cipher, 4), open(Kind::sums), link(Kind::cipher);
  for (Channel* const channel : {&other.proxy, &open.proxy})
    channel->send(MessageKind::output, 0, body_of(20));
  Message message;
  other.bring(std::string(Channel::preamble) + other.take_sent());
  EXPECT_EQ(other.launcher.receive(message), Channel::Got::broken);
  link.bring(std::string(Channel::preamble) + open.take_sent());
  EXPECT_EQ(link.launcher.receive(message), Channel::Got::broken);
}

// Messages are within the bounds; a longer one is refused by its header alone.
TEST(Channel, ABodyBeyondTheBoundOfItsKindIsRefused) {
  EXPECT_EQ(body_bytes_max(MessageKind::alive), 0u);
  EXPECT_EQ(body_bytes_max(MessageKind::input), 64u * 1024);
  struct {
    std::uint32_t magic = 0x6d736267;
    MessageKind kind = MessageKind::alive;
    std::int64_t number = 0;
    std::uint64_t body_bytes = 1;
  } header;
  Link link(Kind::sums);
  ChannelSeal seal;
  link.bring(std::string(Channel::preamble) +
             seal.close({reinterpret_cast<const char*>(&header), sizeof header}));
  Message message;
  EXPECT_EQ(link.launcher.receive(message), Channel::Got::broken);
}

}  // namespace
}  // namespace musubi::launch
