#include "coherence/migrating/copies/versions.h"

#include <cstdint>

#include "base/check.h"
#include "coherence/rules/naming.h"
#include "coherence/rules/writers.h"

namespace musubi::coherence::migrating {

void Versions::name(HeldBlock& b, Version home, bool may_be_silent, PublicCopy copy) {
  MUSUBI_CHECK(home.read_ts >= home.write_ts && !b.entry.copy.bytes_lost);
  Entry& e = b.entry;
  const bool is_told =
      e.published.visited ? ground_.injected(InjectedBug::visitor_kept_quiet) : has_told(e, home);
  const rules::Naming naming = rules::name_version(e, home, may_be_silent && is_told, ground_.parameters);
  const Version next = naming.version;
  MUSUBI_CHECK(next.write_ts >= home.write_ts, "block %lu: version %lu named after %lu",
               static_cast<unsigned long>(b.id.value), static_cast<unsigned long>(next.write_ts.value),
               static_cast<unsigned long>(home.write_ts.value));
  e.habits.leased_releases = naming.leased_releases;
  store(b, next, copy);
  e.published.given_up = copy == PublicCopy::none;
  e.published.visited = false;
  e.habits.silent_releases =
      naming.is_silent ? static_cast<std::uint8_t>(e.habits.silent_releases % 8 + 1) : std::uint8_t{0};
  if (!naming.is_silent) return tell_of(b, next, ground_.self(), copy);
  e.named = rules::name_of_version(next.write_ts);
  ground_.times.raise_clock(next.write_ts);
  ground_.count(Counter::silent_releases);
}

void Versions::store(HeldBlock& b, Version version, PublicCopy copy) {
  Entry& e = b.entry;
  MUSUBI_CHECK(version.read_ts >= version.write_ts && version.write_ts.value >= b.words.write_ts,
               "block %lu: version %lu..%lu after %lu", static_cast<unsigned long>(b.id.value),
               static_cast<unsigned long>(version.write_ts.value),
               static_cast<unsigned long>(version.read_ts.value),
               static_cast<unsigned long>(b.words.write_ts));
  ground_.end_rest(b);
  ground_.forget_overwriter(b);
  store_words(b.words, version, copy);
  e.held.write_ts = version.write_ts;
  e.held.read_ts = version.read_ts;
  e.known.set_home(ground_.self());
}

void Versions::store_words(BlockWords& words, Version version, PublicCopy copy) {
  MUSUBI_CHECK(version.read_ts >= version.write_ts);
  ground_.shared(words.write_ts).store(version.write_ts.value);
  ground_.others_may_act();
  ground_.shared(words.read_ts).store(version.read_ts.value);
  ground_.others_may_act();
  ground_.shared(words.public_ts).store(copy == PublicCopy::holds_it ? version.write_ts.value : 0);
}

void Versions::tell_of(HeldBlock& b, Version version, Rank writer, PublicCopy copy) {
  MUSUBI_CHECK(version.write_ts != LogicalTime{} && version.read_ts >= version.write_ts);
  b.entry.named = rules::name_of_version(version.write_ts);
  ground_.times.raise_clock(version.write_ts);
  ground_.count(Counter::releases);
  const Notice notice{b.id, version.write_ts, version.read_ts, writer, copy == PublicCopy::none};
  if (writer != ground_.self() && !ground_.injected(InjectedBug::own_version_not_heard))
    rules::hear(b.entry, notice);
  if (!ground_.injected(InjectedBug::notice_forgotten)) ground_.signature.add(notice);
}

bool Versions::has_told(const Entry& e, Version version) const {
  return rules::has_told(e, version) || ground_.injected(InjectedBug::moved_home_kept_quiet);
}

void Versions::tell_unless_told(HeldBlock& b, Version version, PublicCopy copy) {
  if (has_told(b.entry, version)) {
    ground_.times.raise_clock(version.write_ts);
  } else {
    tell_of(b, version, ground_.self(), copy);
  }
}

void Versions::take_from_visit(HeldBlock& b, Version version, Rank home) {
  MUSUBI_CHECK(!ground_.is_home(b) && home != ground_.self());
  Entry& e = b.entry;
  ground_.shared(b.words.public_ts).store(version.write_ts.value);
  e.held.write_ts = version.write_ts;
  e.held.read_ts = version.read_ts;
  e.known.set_home(home);
  e.published.given_up = false;
  e.habits.silent_releases = 0;
  tell_of(b, version, home, PublicCopy::holds_it);
}

void Versions::give_up_public_copy(HeldBlock& b) {
  MUSUBI_CHECK(!b.entry.copy.pinned && ground_.own_word(b).tag() != remote_lock::Ownership::unlocked);
  MUSUBI_CHECK(b.words.write_ts != 0, "block %lu: readers of zeros need a public copy",
               static_cast<unsigned long>(b.id.value));
  ground_.shared(b.words.public_ts).store(0);
  ground_.others_may_act();
  b.entry.published.given_up = true;
  b.entry.published.equals = false;
  b.entry.habits.silent_releases = 0;
  ground_.count(Counter::unpublished);
}

}  // namespace musubi::coherence::migrating
