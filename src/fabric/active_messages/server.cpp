#include "fabric/active_messages/server.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace musubi::fabric {
namespace {

// Per peer, each taking memory on first use. Large enough for one block of the usual size and its metadata.
constexpr std::size_t request_buffer_bytes = std::size_t{64} << 10;
constexpr std::size_t reply_bytes = std::size_t{64} << 10;

// A remainder of the input up to this size moves to the front at once, a larger one when room is needed.
constexpr std::size_t moved_bytes_max = 64;

static_assert(wire::step_bytes_max + call_argument_bytes_max <= request_buffer_bytes);
static_assert(sizeof(CallEnd) + call_result_bytes_max <= reply_bytes);

// The largest part of `bytes`, at most `limit`, that ends at a word of the region: no word is torn.
std::size_t whole_words(const std::byte* remote, std::size_t bytes, std::size_t limit) noexcept {
  if (bytes <= limit) return bytes;
  const std::size_t beyond = (reinterpret_cast<std::uintptr_t>(remote) + limit) % wire::word_bytes;
  return limit > beyond ? limit - beyond : 0;
}

}  // namespace

Server::Server(Transport& transport, const Target& own)
    : transport_(transport), own_(own), clients_(transport.ranks()) {
  auto memory = os::Mapping::anywhere((request_buffer_bytes + reply_bytes) * clients_.size(),
                                      os::Protection::read_write);
  MUSUBI_CHECK(memory.ok(), "%s", memory.error().message.c_str());
  memory_ = std::move(memory).value();
  std::byte* next = memory_.data();
  for (Client& client : clients_) {
    client.input = next;
    client.reply = next + request_buffer_bytes;
    next += request_buffer_bytes + reply_bytes;
  }
}

std::size_t Server::Client::room() const noexcept {
  return reply_bytes - filled;
}

void Server::Client::add(const void* result, std::size_t bytes) noexcept {
  std::memcpy(reply + filled, result, bytes);
  filled += bytes;
}

std::size_t Server::places(Rank from, std::span<Place, places_max> places) noexcept {
  const Client& client = clients_[from.value];
  if (client.objection != nullptr || client.end == request_buffer_bytes) return 0;
  places[0] = Place(client.input + client.end, request_buffer_bytes - client.end);
  return 1;
}

const char* Server::received(Rank from, std::size_t bytes) noexcept {
  Client& client = clients_[from.value];
  client.end += bytes;
  return serve(from, client);
}

const char* Server::writable(Rank peer) noexcept {
  Client& client = clients_[peer.value];
  client.reply_held_up = false;
  send_reply(peer, client);
  return serve(peer, client);
}

// Replies leave when all input is carried out, or when the buffer is full.
const char* Server::serve(Rank from, Client& client) noexcept {
  for (Progress progress = Progress::needs_room; client.objection == nullptr;) {
    do {
      progress = advance(from, client);
    } while (progress == Progress::again);
    if (!client.reply_held_up) send_reply(from, client);
    if (progress == Progress::needs_room && client.filled == 0) continue;
    break;
  }
  if (client.begin == client.end) {
    client.begin = client.end = 0;
  } else if (client.begin != 0 && (client.end == request_buffer_bytes || client.there() <= moved_bytes_max)) {
    std::memmove(client.input, client.input + client.begin, client.there());
    client.end -= client.begin;
    client.begin = 0;
  }
  return client.objection;
}

Server::Progress Server::advance(Rank from, Client& client) noexcept {
  if (!client.in_batch) return begin_frame(from, client);
  if (client.in_step) return carry_on(from, client);
  if (client.steps_left != 0) return begin_step(client);
  return end_batch(client);
}

Server::Progress Server::begin_frame(Rank from, Client& client) noexcept {
  wire::FrameHeader header;
  if (client.there() < sizeof header) return Progress::needs_input;
  std::memcpy(&header, client.input + client.begin, sizeof header);
  if (header.mark != wire::frame_mark || header.sequence != client.sequence + 1) {
    client.objection = "its request is damaged, or is none";
    return Progress::refused;
  }
  if (header.kind == wire::FrameKind::message) return take_message(from, client, header);
  if (header.kind != wire::FrameKind::batch) {
    client.objection = "its request is of an unknown kind";
    return Progress::refused;
  }
  client.begin += sizeof header;
  client.sequence = header.sequence;
  client.steps = client.steps_left = header.count;
  client.in_batch = true;
  return Progress::again;
}

Server::Progress Server::take_message(Rank from, Client& client, const wire::FrameHeader& header) noexcept {
  if (header.message >= MessageKind::count || header.count > driver_message_bytes_max ||
      listeners_[static_cast<std::size_t>(header.message)] == nullptr) {
    client.objection = "its message is too long, or nobody listens to its kind";
    return Progress::refused;
  }
  if (client.there() < sizeof header + header.count) return Progress::needs_input;
  const std::byte* const body = client.input + client.begin + sizeof header;
  client.begin += sizeof header + header.count;
  client.sequence = header.sequence;
  if (reinterpret_cast<std::uintptr_t>(body) % wire::word_bytes == 0) {
    client.objection = deliver(from, header.message, {body, header.count});
  } else {
    alignas(16) std::byte aligned[driver_message_bytes_max];
    std::memcpy(aligned, body, header.count);
    client.objection = deliver(from, header.message, {aligned, header.count});
  }
  return client.objection == nullptr ? Progress::again : Progress::refused;
}

const char* Server::deliver(Rank from, MessageKind kind, std::span<const std::byte> body) noexcept {
  Listener* const listener = listeners_[static_cast<std::size_t>(kind)];
  MUSUBI_CHECK(listener != nullptr, "nobody listens to messages of kind %u", static_cast<unsigned>(kind));
  return listener->on_message(from, body);
}

Server::Progress Server::begin_step(Client& client) noexcept {
  if (client.there() < wire::step_bytes(Verb::get)) return Progress::needs_input;
  const std::byte* const description = client.input + client.begin;
  Step step = wire::decode_first_word(description);
  const std::size_t bytes = wire::step_bytes(step.verb);
  if (client.there() < bytes) return Progress::needs_input;
  wire::decode_rest(description, step);
  client.objection = objection_to(own_.regions, own_.procedures, step);
  if (client.objection != nullptr) return Progress::refused;
  client.begin += bytes;
  client.step = step;
  client.done = 0;
  client.in_step = true;
  --client.steps_left;
  return Progress::again;
}

Server::Progress Server::end_batch(Client& client) noexcept {
  const wire::FrameHeader header{
      .kind = wire::FrameKind::reply, .message = {}, .count = client.steps, .sequence = client.sequence};
  if (client.room() < sizeof header) return Progress::needs_room;
  client.order.end();
  client.add(&header, sizeof header);
  client.in_batch = false;
  return Progress::again;
}

// Drops the payload of a skipped put or call.
Server::Progress Server::leave_out(Client& client) noexcept {
  const std::size_t payload = wire::payload_of(client.step).size();
  const std::size_t part = std::min(payload - client.done, client.there());
  client.begin += part;
  client.done += part;
  if (client.done != payload) return Progress::needs_input;
  client.in_step = false;
  return Progress::again;
}

// All arguments must be here before the procedure begins, and its result must have room.
Server::Progress Server::carry_out_call(Rank from, Client& client) noexcept {
  const std::size_t arguments = client.step.operand;
  if (client.there() < arguments) return Progress::needs_input;
  if (client.room() < sizeof(CallEnd) + client.step.bytes) return Progress::needs_room;
  std::byte* const place = client.reply + client.filled;
  const CallEnd end = client.order.call(own_, from, client.step, {client.input + client.begin, arguments},
                                        place + sizeof(CallEnd));
  if (end.verdict == malformed || end.verdict == no_verdict) {
    client.objection = "its call has malformed arguments";
    return Progress::refused;
  }
  client.begin += arguments;
  std::memcpy(place, &end, sizeof end);
  client.filled += sizeof end + end.bytes;
  client.in_step = false;
  return Progress::again;
}

Server::Progress Server::carry_on(Rank from, Client& client) noexcept {
  if (client.order.leaves_out(client.step)) return leave_out(client);
  if (client.step.verb == Verb::call) return carry_out_call(from, client);
  std::byte* const remote = own_.regions[client.step.region.value].base + client.step.offset + client.done;
  if (client.step.verb == Verb::get) return carry_on_get(client, remote);
  if (client.step.verb == Verb::put) return carry_on_put(client, remote);
  if (client.room() < sizeof(std::uint64_t)) return Progress::needs_room;
  const std::uint64_t old = client.order.modify(client.step, remote);
  client.add(&old, sizeof old);
  client.in_step = false;
  return Progress::again;
}

Server::Progress Server::carry_on_get(Client& client, const std::byte* remote) noexcept {
  const std::size_t left = client.step.bytes - client.done;
  const std::size_t part = whole_words(remote, left, client.room());
  if (part == 0 && left != 0) return Progress::needs_room;
  client.order.get(client.reply + client.filled, remote, part);
  client.filled += part;
  client.done += part;
  client.in_step = part != left;
  return Progress::again;
}

Server::Progress Server::carry_on_put(Client& client, std::byte* remote) noexcept {
  const std::size_t left = client.step.bytes - client.done;
  const std::size_t part = whole_words(remote, left, client.there());
  if (part == 0 && left != 0) return Progress::needs_input;
  client.order.put(remote, client.input + client.begin, part);
  client.begin += part;
  client.done += part;
  client.in_step = part != left;
  return Progress::again;
}

// The buffer is reused from its front once all of it is sent.
void Server::send_reply(Rank peer, Client& client) noexcept {
  if (client.filled == client.sent) return;
  const Piece piece(client.reply + client.sent, client.filled - client.sent);
  client.sent += transport_.send(peer, Lane::replies, {&piece, 1});
  client.reply_held_up = client.sent != client.filled;
  if (!client.reply_held_up) client.sent = client.filled = 0;
}

}  // namespace musubi::fabric
