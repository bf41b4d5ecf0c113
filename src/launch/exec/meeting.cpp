#include "launch/exec/meeting.h"

#include <netinet/in.h>

#include <charconv>

#include "launch/job_secret.h"

namespace musubi::launch {
namespace {

constexpr const char *card_key = "card", *door_key = "door", *place_key = "place";

// Without the name of a network, all addresses of the host: the reachable ones need not be guessed.
Result<Door> open_door(const Lead& lead, os::FileDescriptor& listening) {
  Door door;
  door.refused_status = lead.refused_status;
  if (door.refused_status != 0) return door;
  auto secret = make_secret();
  if (!secret) return secret.error();
  door.secret = std::move(secret).value();
  auto addresses = os::addresses_of_network(lead.network);
  if (!addresses && !lead.network.empty()) return addresses.error();
  if (addresses) door.addresses = std::move(addresses).value();
  if (lead.network.empty()) {
    auto opened = os::listen_everywhere(lead.ports, door.port);
    if (!opened) return opened.error();
    listening = std::move(opened).value();
  } else {
    door.addresses.resize(1);
    auto opened = os::listen_at(door.addresses[0], lead.ports);
    if (!opened) return opened.error();
    listening = std::move(opened).value();
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

Result<std::vector<Card>> read_cards(KeyValues& launcher, std::uint32_t count) {
  std::vector<Card> cards;
  for (std::uint32_t rank = 0; rank < count; ++rank) {
    auto text = launcher.get(rank, card_key);
    if (!text) return text.error();
    auto card = parse_card(text.value());
    if (!card) return card.error();
    cards.push_back(std::move(card).value());
  }
  return cards;
}

// The first rank that shares a host with this one; it is the place of all ranks there.
std::uint32_t place_of(const Card& own, const std::vector<Card>& cards, std::uint32_t self) {
  for (std::uint32_t rank = 0; rank < self; ++rank) {
    if (shares_host(own, cards[rank])) return rank;
  }
  return self;
}

Result<std::vector<std::uint16_t>> read_places(KeyValues& launcher) {
  std::vector<std::uint16_t> places;
  for (std::uint32_t rank = 0; rank < launcher.ranks(); ++rank) {
    auto text = launcher.get(rank, place_key);
    if (!text) return text.error();
    std::uint16_t place = 0;
    std::from_chars(text.value().data(), text.value().data() + text.value().size(), place);
    places.push_back(place);
  }
  return places;
}

}  // namespace

Result<Meeting> meet(KeyValues& launcher, const Lead& lead) {
  Meeting meeting;
  meeting.rank = launcher.rank();
  meeting.ranks = launcher.ranks();
  const bool leads = meeting.rank == 0;
  auto mark = make_mark();
  if (!mark) return mark.error();
  if (auto put = launcher.put(card_key, format(mark.value().card)); !put) return put.error();
  if (leads) {
    auto door = open_door(lead, meeting.listening);
    if (!door) return door.error();
    if (auto put = launcher.put(door_key, format(door.value())); !put) return put.error();
  }
  if (auto met = launcher.fence(); !met) return met.error();

  auto text = launcher.get(0, door_key);
  if (!text) return text.error();
  auto door = parse_door(text.value());
  if (!door) return door.error();
  auto cards = read_cards(launcher, leads ? meeting.ranks : meeting.rank);
  if (!cards) return cards.error();
  meeting.cards = std::move(cards).value();
  const std::uint32_t place = place_of(mark.value().card, meeting.cards, meeting.rank);
  if (auto put = launcher.put(place_key, std::to_string(place)); !put) return put.error();
  // After this fence no rank reads the marks any more.
  if (auto met = launcher.fence(); !met) return met.error();
  if (leads) {
    auto places = read_places(launcher);
    if (!places) return places.error();
    meeting.places = std::move(places).value();
  }
  if (auto left = launcher.leave(); !left) return left.error();

  meeting.refused_status = door.value().refused_status;
  meeting.secret = std::move(door.value().secret);
  meeting.addresses = std::move(door.value().addresses);
  if (place == 0 && door.value().port != 0) {
    meeting.addresses.insert(meeting.addresses.begin(), loopback(door.value().port));
  }
  return meeting;
}

}  // namespace musubi::launch
