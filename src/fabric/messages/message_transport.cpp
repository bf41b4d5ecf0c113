#include "fabric/messages/message_transport.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "os/clock.h"

namespace musubi::fabric {
namespace {

constexpr std::uint64_t tick_ns = 1'000'000'000;
constexpr int tick_ms = 1000;
constexpr std::size_t lines_per_word = 64;

template <typename Message>
bool read(const Parcel& parcel, std::size_t bytes, Message& message) noexcept {
  if (bytes != sizeof message) return false;
  std::memcpy(static_cast<void*>(&message), parcel.bytes, sizeof message);
  return true;
}

Tag tag_of(const handshake::Proof& proof) noexcept {
  Tag tag;
  std::copy_n(proof.begin(), tag.size(), tag.begin());
  return tag;
}

}  // namespace

MessageTransport::MessageTransport(std::unique_ptr<MessageNet> net, const MessageOptions& options)
    : net_(std::move(net)),
      handshake_(net_->self(), net_->ranks(), options.build, options.secret),
      complaints_(options.log),
      reach_max_ns_(static_cast<std::uint64_t>(std::chrono::nanoseconds(options.reach_max).count())),
      lines_(2 * std::size_t{net_->ranks()}),
      held_((lines_.size() + lines_per_word - 1) / lines_per_word) {}

Result<std::unique_ptr<MessageTransport>> MessageTransport::create(std::unique_ptr<MessageNet> net,
                                                                   const MessageOptions& options) {
  std::unique_ptr<MessageTransport> transport(new MessageTransport(std::move(net), options));
  Parcel* const first = transport->net_->open_group(0);
  if (first == nullptr) {
    return Error{std::string(transport->net_->name()) +
                 " refuses memory to receive into; raise the limit of locked memory (ulimit -l)"};
  }
  transport->answers_.open(first);
  if (!transport->nonces_.prepare()) return Error{"the kernel gives no random bytes"};
  return transport;
}

std::uint32_t MessageTransport::lines() const noexcept {
  return static_cast<std::uint32_t>(std::ranges::count_if(
      lines_, [](const PeerSession& each) { return each.state.load() == SessionState::joined; }));
}

bool MessageTransport::open_group(Name name) noexcept {
  Parcel* const first = net_->open_group(1 + index(name));
  if (first == nullptr) return false;
  line(name).leaving.open(first);
  return true;
}

MessageHead MessageTransport::head_of(MessageForm form, bool asks) const noexcept {
  MessageHead head;
  head.from = self().value;
  head.form = form;
  head.asks = asks;
  return head;
}

// For a joined line: with the tag, and with the acknowledgement of used messages, noted as told to the peer.
MessageHead MessageTransport::head_on(PeerSession& line, MessageForm form, bool asks) const noexcept {
  MessageHead head = head_of(form, asks);
  head.used = line.coming.used();
  head.tag = line.own_tag;
  line.told.store(head.used);
  return head;
}

void MessageTransport::post(Rank peer, SendWindow& from, Parcel& parcel, std::size_t bytes,
                            MessageNet::Purpose purpose) noexcept {
  if (net_->send(peer, parcel, bytes, purpose) == MessageNet::Sent::at_once) from.has_left(parcel);
}

// Drops the message if no parcel is free: the asking side repeats its hello until it is welcomed.
template <typename Message>
void MessageTransport::send_to(Rank peer, SendWindow& from, const Message& message) noexcept {
  Parcel* const parcel = from.take();
  if (parcel == nullptr) return;
  std::memcpy(parcel->bytes, static_cast<const void*>(&message), sizeof message);
  post(peer, from, *parcel, sizeof message, MessageNet::Purpose::plain);
}

// REQUIRES: the line's state is `called`, by this thread.
void MessageTransport::call(Rank peer) noexcept {
  PeerSession& asking = line({peer, true});
  handshake::Nonce nonce;
  const bool can_call = open_group({peer, true}) && os::random_bytes(nonce.data(), nonce.size());
  asking.hello = handshake_.hello_to(peer, nonce);
  asking.called_ns.store(os::monotonic_ns());
  if (can_call) send_to(peer, asking.leaving, HelloMessage{head_of(MessageForm::hello, true), asking.hello});
  if (lines_begun_.fetch_add(1) == 0) net_->wake(Sleeper::service);  // polls the clock from now on
}

std::size_t MessageTransport::send(Rank peer, Lane lane, std::span<const Piece> pieces) noexcept {
  const Name name{peer, lane == Lane::requests};
  PeerSession& line = this->line(name);
  SessionState state = line.state.load();
  if (state == SessionState::none && line.state.compare_exchange_strong(state, SessionState::called)) {
    call(peer);
    return 0;
  }
  if (state == SessionState::called) return 0;
  std::size_t offered = 0;
  for (const Piece& piece : pieces) offered += piece.size();
  if (state == SessionState::ended) return offered;

  std::size_t taken = 0, piece = 0, done = 0;  // bytes of the current piece
  while (taken < offered) {
    Parcel* const parcel = line.leaving.take_for_lane();
    if (parcel == nullptr) return taken;
    std::size_t filled = sizeof(MessageHead);
    for (; piece < pieces.size() && filled < net_->parcel_bytes(); done = 0, ++piece) {
      const std::size_t part = std::min(pieces[piece].size() - done, net_->parcel_bytes() - filled);
      if (part != 0) std::memcpy(parcel->bytes + filled, pieces[piece].data() + done, part);
      filled += part;
      done += part;
      if (done < pieces[piece].size()) break;
    }
    taken += filled - sizeof(MessageHead);
    MessageHead head = head_on(line, MessageForm::bytes, name.asks);
    head.sequence = line.leaving.next_sequence();
    std::memcpy(parcel->bytes, &head, sizeof head);
    line.has_said_something.store(true, std::memory_order_relaxed);
    post(peer, line.leaving, *parcel, filled, MessageNet::Purpose::plain);
  }
  return taken;
}

// Drops the message if no parcel is free: sent() will repeat it.
void MessageTransport::send_head(Name name, MessageNet::Purpose purpose) noexcept {
  PeerSession& line = this->line(name);
  Parcel* const parcel = line.leaving.take();
  if (parcel == nullptr) return;
  const MessageHead head = head_on(line, MessageForm::room, name.asks);
  std::memcpy(parcel->bytes, &head, sizeof head);
  post(name.peer, line.leaving, *parcel, sizeof head, purpose);
}

Polled MessageTransport::poll(Receiver& receiver) noexcept {
  receiver_ = &receiver;
  const Polled polled = net_->poll(*this);
  const bool any = deliver_held();
  if (lines_begun_.load(std::memory_order_relaxed) != 0) look_at_clock();
  return polled == Polled::nothing && any ? Polled::something : polled;
}

void MessageTransport::sleep(Sleeper sleeper) noexcept {
  const bool ticks = sleeper == Sleeper::service && lines_begun_.load() != 0;
  net_->sleep(sleeper, ticks ? tick_ms : -1);
}

void MessageTransport::arrived(Parcel& parcel, std::size_t bytes) noexcept {
  bool is_kept = false;
  if (const char* const reason = use(parcel, bytes, is_kept)) refused(reason);
  if (!is_kept) net_->give_back(parcel);
}

void MessageTransport::sent(Parcel& parcel) noexcept {
  if (parcel.group == 0) return answers_.has_left(parcel);
  const Name name = name_of(parcel.group - 1);
  PeerSession& line = this->line(name);
  line.leaving.has_left(parcel);
  tell_used(name);  // a free parcel may have been lacking before
  if (line.leaving.becomes_open() && line.state.load() == SessionState::joined) {
    receiver_->writable(name.peer, name.asks ? Lane::requests : Lane::replies);
  }
}

// Result: the objection to a message of a stranger; null: none.
const char* MessageTransport::use(Parcel& parcel, std::size_t bytes, bool& is_kept) noexcept {
  constexpr const char* foreign = "it does not speak Musubi's protocol";
  MessageHead head;
  if (bytes < sizeof head) return foreign;
  std::memcpy(static_cast<void*>(&head), parcel.bytes, sizeof head);
  if (head.from >= ranks() || head.from == self().value) return foreign;
  switch (head.form) {
    case MessageForm::hello: {
      HelloMessage message;
      return read(parcel, bytes, message) ? take_hello(message) : foreign;
    }
    case MessageForm::answer: {
      AnswerMessage message;
      return read(parcel, bytes, message) ? take_answer(message) : foreign;
    }
    case MessageForm::proof: {
      ProofMessage message;
      return read(parcel, bytes, message) ? take_proof(message) : foreign;
    }
    case MessageForm::room:
    case MessageForm::bytes:
      return use_of_line({Rank{head.from}, !head.asks}, head, parcel, bytes, is_kept);
    default:
      return foreign;
  }
}

const char* MessageTransport::use_of_line(Name name, const MessageHead& head, Parcel& parcel,
                                          std::size_t bytes, bool& is_kept) noexcept {
  PeerSession& line = this->line(name);
  const SessionState state = line.state.load();
  if (state == SessionState::ended) return nullptr;
  const bool is_open =
      state == SessionState::joined || (state == SessionState::called && line.own_tag != Tag{});
  if (!is_open || !handshake::is_equal(head.tag, line.peer_tag)) return "it does not know the job's secret";
  if (state == SessionState::called) line.state.store(SessionState::joined);  // this was the welcome
  const bool is_room = head.form == MessageForm::room && bytes == sizeof head;
  const bool is_bytes = head.form == MessageForm::bytes && bytes > sizeof head;
  if ((!is_room && !is_bytes) || !line.leaving.peer_used(head.used)) {
    lose(name.peer, {});
    return nullptr;
  }
  line.is_heard = true;
  if (state == SessionState::called || line.leaving.becomes_open()) {
    receiver_->writable(name.peer, name.asks ? Lane::requests : Lane::replies);
  }
  if (is_room) return nullptr;
  if (!line.coming.insert(head.sequence, parcel, bytes)) {
    lose(name.peer, {});
    return nullptr;
  }
  is_kept = true;
  deliver(name);
  return nullptr;
}

// Keeps no state, because a stranger may send any number of hellos. The answer goes to the rank that the
// hello names.
const char* MessageTransport::take_hello(const HelloMessage& message) noexcept {
  if (const char* const objection = handshake_.objection_to(message.hello)) return objection;
  handshake::Answer answer;
  answer.nonce = nonces_.of(message.hello);
  answer.proof = handshake_.prove(handshake::Side::answers, message.hello, answer.nonce);
  send_to(Rank{message.hello.from}, answers_, AnswerMessage{head_of(MessageForm::answer, false), answer});
  return nullptr;
}

const char* MessageTransport::take_answer(const AnswerMessage& message) noexcept {
  const Name name{Rank{message.head.from}, true};
  PeerSession& line = this->line(name);
  const SessionState state = line.state.load();
  if (state == SessionState::joined || state == SessionState::ended) return nullptr;  // of a repeated hello
  const handshake::Answer& answer = message.answer;
  if (line.called_ns.load() == 0 ||
      !handshake_.is_proof(answer.proof, handshake::Side::answers, line.hello, answer.nonce)) {
    return "it does not know the job's secret";
  }
  ProofMessage proof{head_of(MessageForm::proof, true), line.hello, {}};
  proof.proof = handshake_.prove(handshake::Side::asks, line.hello, answer.nonce);
  line.own_tag = tag_of(handshake_.prove(handshake::Side::asks_tag, line.hello, answer.nonce));
  line.peer_tag = tag_of(handshake_.prove(handshake::Side::answers_tag, line.hello, answer.nonce));
  send_to(name.peer, line.leaving, proof);
  return nullptr;
}

const char* MessageTransport::take_proof(const ProofMessage& message) noexcept {
  if (const char* const objection = handshake_.objection_to(message.hello)) return objection;
  const handshake::Nonce nonce = nonces_.of(message.hello);
  if (!handshake_.is_proof(message.proof, handshake::Side::asks, message.hello, nonce)) {
    return "it does not know the job's secret";
  }
  const Name name{Rank{message.hello.from}, false};
  PeerSession& line = this->line(name);
  if (line.state.load() == SessionState::ended) return nullptr;
  if (line.state.load() == SessionState::none) {
    join(name, message.hello, nonce);
  } else if (message.hello.nonce != line.hello.nonce) {
    return "its rank is connected already";
  }
  if (line.state.load() == SessionState::joined) send_head(name, MessageNet::Purpose::plain);
  return nullptr;
}

void MessageTransport::join(Name name, const handshake::Hello& hello,
                            const handshake::Nonce& nonce) noexcept {
  PeerSession& line = this->line(name);
  if (!open_group(name)) return lose(name.peer, {});
  line.hello = hello;
  line.own_tag = tag_of(handshake_.prove(handshake::Side::answers_tag, hello, nonce));
  line.peer_tag = tag_of(handshake_.prove(handshake::Side::asks_tag, hello, nonce));
  line.state.store(SessionState::joined);
  if (lines_begun_.fetch_add(1) == 0) net_->wake(Sleeper::service);
}

// Result: whether the receiver took anything.
bool MessageTransport::deliver(Name name) noexcept {
  const Lane lane = name.asks ? Lane::replies : Lane::requests;
  PeerSession& line = this->line(name);
  bool any = false;
  for (;;) {
    const std::span<const std::byte> bytes = line.coming.bytes();
    if (bytes.empty() || line.state.load() != SessionState::joined) break;
    std::array<Place, places_max> places;
    const std::size_t wanted = receiver_->places(name.peer, lane, places);
    std::size_t taken = 0;
    for (std::size_t i = 0; i < wanted; ++i) {
      const std::size_t part = std::min(places[i].size(), bytes.size() - taken);
      if (part != 0) std::memcpy(places[i].data(), bytes.data() + taken, part);
      taken += part;
    }
    if (taken == 0) {
      const std::uint32_t bit = index(name);
      held_[bit / lines_per_word].fetch_or(std::uint64_t{1} << bit % lines_per_word);
      break;
    }
    any = true;
    if (Parcel* const parcel = line.coming.taken(taken)) net_->give_back(*parcel);
    receiver_->received(name.peer, lane, taken);
  }
  tell_used(name);
  return any;
}

void MessageTransport::tell_used(Name name) noexcept {
  const PeerSession& line = this->line(name);
  const bool is_due = line.coming.used() - line.told.load() >= lane_window / 2;
  if (is_due && line.state.load() == SessionState::joined) send_head(name, MessageNet::Purpose::plain);
}

bool MessageTransport::deliver_held() noexcept {
  bool any = false;
  for (std::size_t word = 0; word < held_.size(); ++word) {
    if (held_[word].load(std::memory_order_relaxed) == 0) continue;
    for (std::uint64_t lines = held_[word].exchange(0); lines != 0; lines &= lines - 1) {
      const auto bit = static_cast<std::uint32_t>(word * lines_per_word) +
                       static_cast<std::uint32_t>(std::countr_zero(lines));
      any = deliver(name_of(bit)) || any;
    }
  }
  return any;
}

void MessageTransport::look_at_clock() noexcept {
  const std::uint64_t now = os::monotonic_ns();
  if (now < next_tick_ns_) return;
  next_tick_ns_ = now + tick_ns;
  for (std::uint32_t i = 0; i < lines_.size(); ++i) look_at_line(name_of(i), now);
}

void MessageTransport::look_at_line(Name name, std::uint64_t now) noexcept {
  PeerSession& line = this->line(name);
  const SessionState state = line.state.load();
  const std::uint64_t called_ns = line.called_ns.load();
  if (state == SessionState::called && called_ns != 0) {
    if (now > called_ns && now - called_ns > reach_max_ns_) {
      lose(name.peer, {Loss::Kind::unreachable, "it does not answer"});
    } else if (line.leaving.all_have_left()) {
      send_to(name.peer, line.leaving, HelloMessage{head_of(MessageForm::hello, true), line.hello});
    }
  } else if (state == SessionState::joined) {
    if (!line.is_heard && line.failed_ns != 0 && now - line.failed_ns > reach_max_ns_) {
      lose(name.peer, {});
    } else if (!line.has_said_something.exchange(false)) {
      send_head(name, MessageNet::Purpose::probing);
    }
  }
}

// A peer that asks repeats its hello, as this rank does, until it is welcomed or patience ends; a peer that
// is gone does not.
void MessageTransport::failed(Rank peer) noexcept {
  PeerSession &asking = line({peer, true}), &answering = line({peer, false});
  if (asking.is_heard || answering.is_heard) return lose(peer, {});
  if (answering.failed_ns == 0) answering.failed_ns = os::monotonic_ns();
}

void MessageTransport::lose(Rank peer, Loss loss) noexcept {
  const bool was_there = line({peer, true}).state.load() != SessionState::ended;
  close(peer);
  if (was_there) receiver_->lost(peer, loss);
}

void MessageTransport::close(Rank peer) noexcept {
  for (const bool asks : {true, false}) {
    PeerSession& line = this->line({peer, asks});
    line.state.store(SessionState::ended);
    while (Parcel* const parcel = line.coming.drop()) net_->give_back(*parcel);
  }
}

}  // namespace musubi::fabric
