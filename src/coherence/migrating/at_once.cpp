// Releases and acquires at which nothing happens: most barriers of programs that share little. They need no
// task. In a quiescent release nobody else of this rank is at work but a thread that makes room, which holds
// the gate of releases.
#include "coherence/migrating/acquires.h"
#include "coherence/migrating/releases.h"

namespace musubi::coherence::migrating {

bool Releases::release_at_once(bool quiescent) {
  if (!quiescent) return false;
  const auto pass = ground_.release_gate.try_enter();
  if (!pass) return false;
  if (!stacks_.all_are_unchanged()) return false;
  if (copies_.is_look_due()) return false;
  // A block that is writable is listed, or sleeps; pinned ones are not.
  if (!ground_.dirty.empty() || !unpublished_.begin_release()) return false;
  ground_.quiescence.begin_barrier();
  return true;
}

bool Acquires::acquire_at_once(SignatureView signature, Audience audience) {
  const bool is_kept = audience != Audience::everyone && !signature.empty();
  if (audience <= Audience::unknown_in_order || is_kept || leases_.some_to_close() || !held_back_.empty() ||
      ground_.visits.is_quiescent() || ground_.times.expired() < signature.minimum)
    return false;
  LogicalTime newest = signature.minimum;
  for (const Notice& notice : signature.notices) {
    if (notice.writer != ground_.self()) return false;
    newest = later(newest, notice.write_ts);
  }
  if (!signature.notices.empty()) ground_.count(Counter::notices_received, signature.notices.size());
  ground_.times.raise_clock(newest);
  relays_.set_in_crowd(true);
  ground_.quiescence.end_barrier();
  return true;
}

}  // namespace musubi::coherence::migrating
