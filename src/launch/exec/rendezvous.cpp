#include "launch/exec/rendezvous.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <fstream>
#include <type_traits>

#include "launch/launch_plan.h"
#include "launch/pmi/key_values.h"
#include "os/host_name.h"

namespace musubi::launch {
namespace {

constexpr std::size_t mark_bytes = 16;
constexpr std::size_t addresses_max = 12;  // as many as fit

Error odd() {
  return Error{"the ranks do not understand each other; install the same Musubi on all hosts"};
}

std::string hexadecimal(std::string_view bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const char each : bytes) {
    const auto byte = static_cast<unsigned char>(each);
    text += digits[byte / 16];
    text += digits[byte % 16];
  }
  return text;
}

bool from_hexadecimal(std::string_view text, std::string& bytes) {
  if (text.size() % 2 != 0) return false;
  bytes.clear();
  for (std::size_t at = 0; at < text.size(); at += 2) {
    unsigned byte = 0;
    const auto [rest, failure] = std::from_chars(text.data() + at, text.data() + at + 2, byte, 16);
    if (failure != std::errc{} || rest != text.data() + at + 2) return false;
    bytes += static_cast<char>(byte);
  }
  return true;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t comma = text.find(',');
    parts.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

template <class Number>
bool parse_number(std::string_view text, Number& number) {
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failure == std::errc{} && rest == text.data() + text.size() && number >= 0;
}

std::string own_name() {
  const std::string name = os::host_name("");
  std::string printable;
  for (const char letter : name) {
    const bool is_plain =
        std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '.' || letter == '-';
    printable += is_plain ? letter : '_';
  }
  return printable.empty() ? "unnamed" : printable;
}

std::string own_kernel() {
  std::string boot = "no-boot-id";
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  char space[64] = {};
  if (::readlink("/proc/self/ns/pid", space, sizeof space - 1) < 0) return boot;
  return boot + "-" + space;
}

static_assert(std::is_trivially_copyable_v<os::SocketAddress>);

constexpr const char *card_key = "card", *door_key = "door", *place_key = "place";

// Without the name of a network, all addresses of the host: the reachable ones need not be guessed.
Result<LeaderAddress> open_door(const Lead& lead, os::FileDescriptor& listening) {
  LeaderAddress door;
  door.refused_status = lead.refused_status;
  if (door.refused_status != 0) return door;
  MUSUBI_ASSIGN_OR_RETURN(door.secret, make_secret());
  auto addresses = os::addresses_of_network(lead.network);
  if (!addresses && !lead.network.empty()) return addresses.error();
  if (addresses) door.addresses = std::move(addresses).value();
  if (lead.network.empty()) {
    MUSUBI_ASSIGN_OR_RETURN(listening, os::listen_everywhere(lead.ports, door.port));
  } else {
    door.addresses.resize(1);
    MUSUBI_ASSIGN_OR_RETURN(listening, os::listen_at(door.addresses[0], lead.ports));
  }
  for (os::SocketAddress& address : door.addresses) {
    if (door.port != 0) address.set_port(door.port);
  }
  return door;
}

os::SocketAddress loopback(std::uint16_t port) {
  os::SocketAddress address;
  address.v4 = {};
  address.v4.sin_family = AF_INET;
  address.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.set_port(port);
  return address;
}

Result<std::vector<HostProof>> read_cards(KeyValues& launcher, std::uint32_t count) {
  std::vector<HostProof> cards;
  for (std::uint32_t rank = 0; rank < count; ++rank) {
    MUSUBI_ASSIGN_OR_RETURN(auto text, launcher.get(rank, card_key));
    MUSUBI_ASSIGN_OR_RETURN(auto card, parse_host_proof(text));
    cards.push_back(std::move(card));
  }
  return cards;
}

// The first rank that shares a host with this one; it is the place of all ranks there.
std::uint32_t place_of(const HostProof& own, const std::vector<HostProof>& cards, std::uint32_t self) {
  for (std::uint32_t rank = 0; rank < self; ++rank) {
    if (shares_host(own, cards[rank])) return rank;
  }
  return self;
}

Result<std::vector<std::uint16_t>> read_places(KeyValues& launcher) {
  std::vector<std::uint16_t> places;
  for (std::uint32_t rank = 0; rank < launcher.ranks(); ++rank) {
    MUSUBI_ASSIGN_OR_RETURN(auto text, launcher.get(rank, place_key));
    std::uint16_t place = 0;
    std::from_chars(text.data(), text.data() + text.size(), place);
    places.push_back(place);
  }
  return places;
}

}  // namespace

std::string format(const HostProof& card) {
  return card.host + "," + card.kernel + "," + std::to_string(card.process) + "," +
         std::to_string(card.file) + "," + card.mark;
}

Result<HostProof> parse_host_proof(std::string_view text) {
  const auto parts = split(text);
  HostProof card;
  if (parts.size() != 5 || parts[0].empty() || !parse_number(parts[2], card.process) ||
      !parse_number(parts[3], card.file)) {
    return odd();
  }
  card.host = parts[0];
  card.kernel = parts[1];
  card.mark = parts[4];
  return card;
}

std::string format(const LeaderAddress& door) {
  std::string text =
      std::to_string(door.refused_status) + "," + std::to_string(door.port) + "," + hexadecimal(door.secret);
  for (std::size_t i = 0; i < std::min(door.addresses.size(), addresses_max); ++i) {
    const auto* bytes = reinterpret_cast<const char*>(&door.addresses[i]);
    text += "," + hexadecimal({bytes, sizeof(os::SocketAddress)});
  }
  MUSUBI_CHECK(text.size() <= value_bytes_max, "the addresses of a host in one value");
  return text;
}

Result<LeaderAddress> parse_leader_address(std::string_view text) {
  const auto parts = split(text);
  LeaderAddress door;
  if (parts.size() < 3 || !parse_number(parts[0], door.refused_status) ||
      !parse_number(parts[1], door.port) || !from_hexadecimal(parts[2], door.secret)) {
    return odd();
  }
  for (std::size_t i = 3; i < parts.size(); ++i) {
    std::string bytes;
    if (!from_hexadecimal(parts[i], bytes) || bytes.size() != sizeof(os::SocketAddress)) return odd();
    os::SocketAddress address;
    std::memcpy(static_cast<void*>(&address), bytes.data(), bytes.size());
    if (address.any.sa_family != AF_INET && address.any.sa_family != AF_INET6) return odd();
    door.addresses.push_back(address);
  }
  return door;
}

Result<HostMark> make_host_mark() {
  char bytes[mark_bytes];
  if (!os::random_bytes(bytes, sizeof bytes)) {
    return Error{"the kernel gives no random bytes; allow getrandom(2) in the sandbox"};
  }
  MUSUBI_ASSIGN_OR_RETURN(auto file, os::create_memory_file("musubi-mark", sizeof bytes));
  HostMark mark;
  mark.file = std::move(file);
  if (::pwrite(mark.file.number(), bytes, sizeof bytes, 0) != sizeof bytes) {
    return Error{"cannot write to a memory file; free some memory"};
  }
  mark.card = {own_name(), own_kernel(), ::getpid(), mark.file.number(), hexadecimal({bytes, sizeof bytes})};
  return mark;
}

bool shares_host(const HostProof& own, const HostProof& other) {
  if (own.kernel != other.kernel) return false;
  auto file = os::open_file_of_process(other.process, other.file);
  char bytes[mark_bytes];
  return file.ok() && ::pread(file.value().number(), bytes, sizeof bytes, 0) == sizeof bytes &&
         hexadecimal({bytes, sizeof bytes}) == other.mark;
}

Result<Rendezvous> meet(KeyValues& launcher, const Lead& lead) {
  Rendezvous meeting;
  meeting.rank = launcher.rank();
  meeting.ranks = launcher.ranks();
  const bool leads = meeting.rank == 0;
  MUSUBI_ASSIGN_OR_RETURN(auto mark, make_host_mark());
  if (auto put = launcher.put(card_key, format(mark.card)); !put) return put.error();
  if (leads) {
    MUSUBI_ASSIGN_OR_RETURN(auto door, open_door(lead, meeting.listening));
    if (auto put = launcher.put(door_key, format(door)); !put) return put.error();
  }
  if (auto met = launcher.fence(); !met) return met.error();

  MUSUBI_ASSIGN_OR_RETURN(auto text, launcher.get(0, door_key));
  MUSUBI_ASSIGN_OR_RETURN(auto door, parse_leader_address(text));
  MUSUBI_ASSIGN_OR_RETURN(meeting.cards, read_cards(launcher, leads ? meeting.ranks : meeting.rank));
  const std::uint32_t place = place_of(mark.card, meeting.cards, meeting.rank);
  if (auto put = launcher.put(place_key, std::to_string(place)); !put) return put.error();
  // After this fence no rank reads the marks any more.
  if (auto met = launcher.fence(); !met) return met.error();
  if (leads) {
    MUSUBI_ASSIGN_OR_RETURN(meeting.places, read_places(launcher));
  }
  if (auto left = launcher.leave(); !left) return left.error();

  meeting.refused_status = door.refused_status;
  meeting.secret = std::move(door.secret);
  meeting.addresses = std::move(door.addresses);
  if (place == 0 && door.port != 0) {
    meeting.addresses.insert(meeting.addresses.begin(), loopback(door.port));
  }
  return meeting;
}

}  // namespace musubi::launch
