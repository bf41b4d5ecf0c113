#include "coherence/migrating/versions.h"

#include <cstdint>

#include "base/check.h"
#include "coherence/rules/naming.h"

namespace musubi::coherence::migrating {

void Versions::name(Block& b, Version home, bool may_be_silent, PublicCopy copy) {
  Entry& e = b.entry;
  const rules::Naming naming = rules::name_version(e, home, may_be_silent, ground_.parameters);
  const Version next = naming.version;
  MUSUBI_CHECK(next.write_ts >= home.write_ts, "block %lu: version %lu named after %lu",
               static_cast<unsigned long>(b.id.value), static_cast<unsigned long>(next.write_ts.value),
               static_cast<unsigned long>(home.write_ts.value));
  e.leased_releases = naming.leased_releases;
  store(b, next, copy);
  ground_.times.raise_clock(next.write_ts);
  ground_.count(naming.is_silent ? Counter::silent_releases : Counter::releases);
  e.gave_up_copy = copy == PublicCopy::none;
  e.silent_releases =
      naming.is_silent ? static_cast<std::uint8_t>(e.silent_releases % 8 + 1) : std::uint8_t{0};
  if (!naming.is_silent && !ground_.injected(InjectedBug::notice_forgotten)) {
    ground_.signature.add(Notice{b.id, next.write_ts, next.read_ts, ground_.self(), e.gave_up_copy});
  }
}

void Versions::store(Block& b, Version version, PublicCopy copy) {
  Entry& e = b.entry;
  MUSUBI_CHECK(version.read_ts >= version.write_ts && version.write_ts.value >= b.words.write_ts,
               "block %lu: version %lu..%lu after %lu", static_cast<unsigned long>(b.id.value),
               static_cast<unsigned long>(version.write_ts.value),
               static_cast<unsigned long>(version.read_ts.value),
               static_cast<unsigned long>(b.words.write_ts));
  ground_.shared(b.words.write_ts).store(version.write_ts.value);
  ground_.others_may_act();
  ground_.shared(b.words.read_ts).store(version.read_ts.value);
  ground_.others_may_act();
  ground_.shared(b.words.public_ts).store(copy == PublicCopy::holds_it ? version.write_ts.value : 0);
  e.write_ts = version.write_ts;
  e.read_ts = version.read_ts;
  e.home_guess = ground_.self();
  e.home_known = true;
}

void Versions::give_up_public_copy(Block& b) {
  MUSUBI_CHECK(!b.entry.pinned && ground_.own_word(b).tag() != remote_lock::Ownership::unlocked);
  MUSUBI_CHECK(b.words.write_ts != 0, "block %lu: readers of zeros need a public copy",
               static_cast<unsigned long>(b.id.value));
  ground_.shared(b.words.public_ts).store(0);
  ground_.others_may_act();
  b.entry.gave_up_copy = true;
  b.entry.published_equals = false;
  b.entry.silent_releases = 0;
  ground_.count(Counter::unpublished);
}

}  // namespace musubi::coherence::migrating
