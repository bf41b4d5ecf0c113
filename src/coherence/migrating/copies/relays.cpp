#include "coherence/migrating/copies/relays.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "coherence/regions.h"
#include "coherence/rules/relays.h"
#include "fabric/transfer.h"

namespace musubi::coherence::migrating {

using fabric::Step;
using Answer = LinesAnswer<CopyResult>;

// A reader that this rank asks may be bringing the version itself, or be about to begin. A reader that has it
// without a public copy will make one of the next version.
Task<std::optional<Giver>> Relays::fetch(HeldBlock& b, LogicalTime wanted, Rank writer, std::byte* target,
                                         std::optional<Rank> sent_to) {
  MUSUBI_CHECK(wanted != LogicalTime{} && writer != ground_.self());
  CopyRequest request{b.id.value, wanted.value, sent_to ? 1u : 0u, is_in_crowd() ? 0u : 1u, {}};
  bool was_sent = sent_to.has_value();
  Rank rank = was_sent ? *sent_to : parent(b.id).value_or(writer);
  if (has_readers(b, wanted)) RelayBoard(record(b.id)).announce(wanted);
  for (unsigned waits = 0;;) {
    CopyResult result{};
    request.lines = lines_.wanted(b, Answer::room);
    const fabric::Verdict verdict = co_await ask(b, request, rank, target, &result);
    if (verdict == copies::here) {
      remember(b.id, rank, writer);
      if (rank != writer) ground_.count(Counter::relayed_fetches);
      co_return Giver{rank, result.atomic_words};
    }
    const Rank next{static_cast<std::uint32_t>(result.relay)};
    if (verdict == copies::relayed && next != ground_.self() && request.links < rules::relay_links_max) {
      rank = next;
      was_sent = true;
      ++request.links;
      continue;
    }
    if (verdict != copies::relayed) {
      remember(b.id, rank, writer);
      if (rank == writer) co_return std::nullopt;
      if (waits < rules::relay_waits_max(verdict == copies::coming, was_sent)) {
        ++waits;
        co_await pause(std::min(waits, rules::relay_pause_max));
        continue;
      }
    }
    // Nothing is to be had there. A rank that no other has sent starts again from the writer.
    request.insists = was_sent || verdict == copies::relayed ? 1 : 0;
    if (request.insists == 0) remember(b.id, writer, writer);
    request.links = 0;
    waits = 0;
    rank = writer;
  }
}

// One trip. Bytes that have come are counted.
Task<fabric::Verdict> Relays::ask(HeldBlock& b, const CopyRequest& request, Rank rank, std::byte* target,
                                  CopyResult* result) {
  MUSUBI_CHECK(rank != ground_.self() && target != b.published);
  const BufferPool::Buffer room(lines_.answers());
  Answer& answer = *Answer::in(room);
  std::uint64_t version_after = 0;
  std::array<Step, 3> steps{call(copy_procedure, request, answer),
                            fabric::if_verdict(copies::here, fabric::get(published_region, b.extent.offset,
                                                                         target, b.extent.bytes)),
                            fabric::get(words_region, word_offset(b.id, offsetof(BlockWords, version)),
                                        &version_after, sizeof version_after)};
  co_await fabric::transfer(ground_.fabric, rank, steps);
  *result = answer.result;
  const fabric::Verdict verdict = answer.end.verdict;
  if (verdict != copies::here && verdict != copies::in_lines) co_return verdict;
  if (verdict == copies::here && target == b.own) b.entry.copy.bytes_lost = true;
  if (ground_.is_given_back(answer.result.version, version_after)) co_return copies::not_here;
  if (verdict == copies::in_lines) {
    lines_.lay(b, target, answer.lines, answer.came());
  } else {
    ground_.count_fetch(b);
  }
  co_return copies::here;
}

std::optional<Rank> Relays::parent(BlockId id) const {
  if (!is_in_crowd()) return std::nullopt;
  return RelayParent{parent_word(id).load()}.rank_for(id);
}

void Relays::remember(BlockId id, Rank rank, Rank writer) {
  if (!is_in_crowd()) return;
  if (rank != writer) {
    parent_word(id).store(RelayParent::of(id, rank).raw());
  } else if (parent(id)) {
    parent_word(id).store(0);
  }
}

bool Relays::has_readers(const HeldBlock& b, LogicalTime coming) const {
  if (!are_used() || coming == LogicalTime{}) return false;
  return RelayBoard(record(b.id)).has_readers(b.id, b.entry.held.write_ts, coming);
}

RelayRecord& Relays::record(BlockId id) const {
  return *reinterpret_cast<RelayRecord*>(region() + layout().record(id));
}

std::atomic_ref<std::uint64_t> Relays::parent_word(BlockId id) const {
  return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(region() + layout().parent(id)));
}

}  // namespace musubi::coherence::migrating
