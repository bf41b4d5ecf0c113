#include "fabric/sockets/peer_life.h"

namespace musubi::fabric {

PeerLife::Verdict PeerLife::welcomed() noexcept {
  if (is_lost_ || asking_ != Line::none) return Verdict::stale;
  asking_ = Line::joined;
  return Verdict::welcome;
}

// Attempts arrive in any order: one that the peer has given up may be read after its next one.
PeerLife::Verdict PeerLife::proved(std::uint32_t attempt) noexcept {
  if (is_lost_ || answering_ == Line::ended || attempt <= attempt_) return Verdict::stale;
  if (answering_ == Line::joined) return Verdict::second;
  const bool replaces = answering_ == Line::welcomed;
  if (answering_ == Line::awaited) deadline_ns_ = 0;
  answering_ = Line::welcomed;
  attempt_ = attempt;
  return replaces ? Verdict::replaces : Verdict::welcome;
}

void PeerLife::heard() noexcept {
  if (answering_ == Line::welcomed) answering_ = Line::joined;
}

PeerLife::End PeerLife::ended(bool asking, bool for_good, std::uint64_t now_ns,
                              const Patience& patience) noexcept {
  const bool other_has_ended = asking_ == Line::ended || answering_ == Line::ended;
  if (!asking && answering_ == Line::welcomed && !for_good && !other_has_ended) {
    answering_ = Line::awaited;
    deadline_ns_ = now_ns + patience.repeat_ns;
    return End::attempt;
  }
  (asking ? asking_ : answering_) = Line::ended;
  const Line other = asking ? answering_ : asking_;
  if (for_good || !is_up(other)) {
    lose();
    return End::peer;
  }
  deadline_ns_ = now_ns + patience.drain_ns;
  return End::line;
}

void PeerLife::lose() noexcept {
  is_lost_ = true;
  asking_ = answering_ = Line::ended;
  deadline_ns_ = 0;
}

PeerLife::Over PeerLife::is_over(std::uint64_t now_ns) noexcept {
  if (deadline_ns_ == 0 || now_ns < deadline_ns_) return Over::no;
  const Over over = answering_ == Line::awaited ? Over::gone : Over::cut;
  lose();
  return over;
}

}  // namespace musubi::fabric
