// The bytes of other writers stay at the home: the copy here goes on to be of the version that it was, with
// the changes of this rank, until a notice or its time ends it. Only if no other rank had changed that
// version it is the new one.
#include "coherence/migrating/releases/home_merges.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "coherence/regions.h"
#include "coherence/rules/leases.h"
#include "coherence/rules/states.h"
#include "coherence/rules/writers.h"
#include "fabric/transfer.h"

namespace musubi::coherence::migrating {

Task<bool> HomeMerges::release(HeldBlock& b) {
  if (!may_send(b)) co_return false;
  Entry& e = b.entry;
  const BufferPool::Buffer snapshot(ground_.store.scratch());
  const BufferPool::Buffer message(messages_);
  Changes changes(ground_.store, b, snapshot.data(), {});
  Rank home = ground_.believed_home(b);
  Twin twin = Twin::left_out;
  std::optional<std::uint8_t> alone;
  for (;;) {
    const std::size_t from = changes.passed();
    const Message written = write_message(b, changes, twin, message.data());
    if (!alone && twin == Twin::left_out && wants_home(b, changes, written)) co_return false;
    if (written.bytes == 0) break;
    const std::span<const std::byte> sent(message.data(), written.bytes);
    ChangesResult result{};
    const fabric::Verdict verdict = co_await send(b, &home, sent, &result);
    if (verdict == changes_at_home::contested && twin == Twin::left_out) {
      twin = Twin::sent;
      changes.pass(from);
      continue;
    }
    if (verdict != changes_at_home::done) co_return false;
    if (!alone) alone = rules::next_releases_alone(e, result.found.write_ts);
    take_result(b, home, result, sent);
  }
  ground_.count(Counter::comparisons);
  if (!alone) co_return true;  // the bytes that differed are as they were
  e.habits.releases_alone = *alone;
  ground_.count(Counter::home_merges);
  co_return true;
}

// Without a share of first changes no rank sends any. Bytes that come must be shown at once: they go into
// open pages. A rank that took live bytes of this one writes the twin.
bool HomeMerges::may_send(const HeldBlock& b) const {
  const Entry& e = b.entry;
  return ground_.parameters.first_changes_share != 0 && rules::leaves_home_there(e) &&
         !ground_.keeps_order() && !e.copy.held_back && !e.copy.bytes_lost && !ground_.is_home(b) &&
         !e.published.given_up && !ground_.store.has_private_parts(b);
}

// A run that does not fit is cut between two words, which are never seen in parts.
HomeMerges::Message HomeMerges::write_message(const HeldBlock& b, Changes& changes, Twin twin,
                                              std::byte* message) const {
  constexpr std::size_t word = sizeof(std::uint64_t);
  const ChangesRequest request{
      b.id.value, b.entry.held.write_ts.value, ground_.times.acquired().value, b.initial_home.value, twin,
      {}};
  std::memcpy(message, &request, sizeof request);
  std::size_t at = sizeof request, changed = 0;
  const std::size_t little = at + rules::first_changes_bytes_max(b.extent.bytes, ground_.parameters);
  const bool is_first = rules::is_first_release(b.entry) && twin == Twin::left_out;
  const std::size_t most =
      is_first ? std::min(little, fabric::call_argument_bytes_max) : fabric::call_argument_bytes_max;
  for (;;) {
    const Changes::Piece piece = changes.next();
    const std::size_t room = most > at ? ChangedRuns::bytes_in(most - at, twin) : 0;
    if (piece.empty() || room < word) break;
    const std::size_t end = piece.end - piece.begin <= room ? piece.end : (piece.begin + room) / word * word;
    at += ChangedRuns::write(message + at, piece.begin, end, {changes.bytes_at(0), b.extent.bytes},
                             {b.published, b.extent.bytes}, twin);
    changed += end - piece.begin;
    changes.pass(end);
  }
  return changed == 0 ? Message{} : Message{at, changed};
}

bool HomeMerges::wants_home(const HeldBlock& b, Changes& changes, const Message& first) const {
  const bool is_all = changes.next().empty();
  if (rules::is_first_release(b.entry)) return !is_all;  // much has changed
  return rules::changes_most(first.changed + (is_all ? 0 : changes.bytes_left()), b.extent.bytes);
}

Task<fabric::Verdict> HomeMerges::send(const HeldBlock& b, Rank* home, std::span<const std::byte> message,
                                       ChangesResult* result) {
  MUSUBI_CHECK(message.size() > sizeof(ChangesRequest) && message.size() <= fabric::call_argument_bytes_max);
  unsigned links = 0;
  for (unsigned look = 0; look < rules::visit_looks_max && links <= rules::visit_links_max; ++look) {
    if (*home == ground_.self()) break;
    fabric::Answer<ChangesResult> answer{};
    const std::array<fabric::Step, 1> step{
        fabric::call(merge_procedure, message, answer.end, sizeof answer.result)};
    co_await fabric::transfer(ground_.fabric, *home, step);
    switch (answer.end.verdict) {
      case changes_at_home::done:
        *result = answer.result;
        co_return changes_at_home::done;
      case changes_at_home::elsewhere:
        *home = ground_.place_after(b, *home, Rank{answer.result.home}, ++links);
        break;
      case changes_at_home::busy:
        co_await pause(look);
        break;
      default:
        co_return answer.end.verdict;
    }
  }
  co_return changes_at_home::refused;
}

// The twin gets the bytes that were sent, and no more: threads of this rank may have written since. The
// notice sends readers to the home, even if the whole version is here: only the home knows which lines it has
// changed.
void HomeMerges::take_result(HeldBlock& b, Rank home, const ChangesResult& result,
                             std::span<const std::byte> message) {
  MUSUBI_CHECK(home != ground_.self() && message.size() > sizeof(ChangesRequest));
  MUSUBI_CHECK(result.version.read_ts >= result.version.write_ts &&
               result.version.write_ts > result.found.write_ts);
  Entry& e = b.entry;
  twins_.note_copy(b);
  if (ground_.injected(InjectedBug::sent_with_later_writes)) (void)ground_.store.copy_changes(b);
  ChangesRequest request;
  std::memcpy(&request, message.data(), sizeof request);
  ChangedRuns runs(message.subspan(sizeof request), b.extent.bytes, request.twin);
  ChangedRuns::Run run;
  while (runs.take(run)) std::memcpy(b.published + run.begin, run.bytes.data(), run.bytes.size());
  ground_.note_home(b, home);
  ground_.learn_atomic_words(b.words, result.atomic_words);
  const bool is_whole =
      result.found.write_ts == e.held.write_ts || ground_.injected(InjectedBug::merged_taken_for_whole);
  if (is_whole) {
    versions_.take_from_visit(b, result.version, home);
    if (rules::is_valid(e) && !e.copy.pinned) leases_.watch(b);
  } else {
    e.habits.silent_releases = 0;
    versions_.tell_of(b, result.version, home, PublicCopy::holds_it);
  }
}

}  // namespace musubi::coherence::migrating
