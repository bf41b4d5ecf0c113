#include "sync/reader_writer_locks.h"

#include <array>
#include <bit>

#include "base/check.h"
#include "coherence/regions.h"
#include "fabric/transfer.h"

namespace musubi::sync {
namespace {

using coherence::control_region;
using fabric::Step;

constexpr std::size_t ranks_per_word = 64;

}  // namespace

// For a thread that is not yet waiting, or is first in the queue.
bool ReaderWriterLocks::is_open_for(const WaitRecord& record, Share share) {
  return share == Share::writing ? record.holders == 0 : record.holders != held_by_writer;
}

void ReaderWriterLocks::enter(WaitRecord& record, Share share) {
  MUSUBI_CHECK(is_open_for(record, share));
  MUSUBI_CHECK(is_open_for(record, share) && record.holders != held_by_writer - 1);
  record.holders = share == Share::writing ? held_by_writer : record.holders + 1;
}

Task<> ReaderWriterLocks::lock(RwLockId lock, Share share) {
  WaitRecords::Opened opened = co_await records_.open(lock.value);
  const bool passes = share == Share::reading && hooks_.injected(InjectedBug::reader_passes_writer);
  const bool nobody_waits = opened.record.first.is_none() || passes;
  std::uint64_t last_writer = opened.record.writer;
  if (nobody_waits && is_open_for(opened.record, share)) {
    enter(opened.record, share);
    co_await records_.close(opened);
  } else {
    WaitRecords::Waiter waiter(records_, share == Share::writing);
    co_await records_.append(opened, waiter);
    co_await records_.close(opened);
    co_await waiter.grant.granted;
    // The lock is held: no writer changes this now.
    const WaitRecord now = co_await records_.look(lock.value);
    last_writer = now.writer;
  }
  co_await acquire(lock, share, last_writer);
}

Task<bool> ReaderWriterLocks::try_lock(RwLockId lock, Share share) {
  WaitRecords::Opened opened = co_await records_.open(lock.value);
  if (!opened.record.first.is_none() || !is_open_for(opened.record, share)) {
    co_await records_.close_unchanged(opened);
    co_return false;
  }
  const std::uint64_t last_writer = opened.record.writer;
  enter(opened.record, share);
  co_await records_.close(opened);
  co_await acquire(lock, share, last_writer);
  co_return true;
}

Task<> ReaderWriterLocks::unlock(RwLockId lock, Share share) {
  co_await protocol_.release(coherence::Scope::everything(), false);
  WaitRecords::Opened opened = co_await records_.open(lock.value);
  if (share == Share::reading) {
    co_await note_reader(lock);
    --opened.record.holders;
  } else {
    co_await forget_readers(lock);
    opened.record.writer = std::uint64_t{fabric_.self().value} + 1;
    opened.record.holders = 0;
  }
  co_await admit(opened);
  co_await records_.close(opened);
}

// A woken thread reads the last writer from the record.
Task<> ReaderWriterLocks::admit(WaitRecords::Opened& opened) {
  WaitRecord& record = opened.record;
  const auto first_share = [&record] { return record.first.exclusive() ? Share::writing : Share::reading; };
  if (record.first.is_none() || !is_open_for(record, first_share())) co_return;
  co_await records_.store(opened);
  do {
    enter(record, first_share());
    const WaiterLink next = co_await records_.pop(opened);
    co_await records_.wake(next);
  } while (!record.first.is_none() && is_open_for(record, first_share()));
}

// Acquires the signature of the rank that released the lock last, or a newer one of that rank.
Task<> ReaderWriterLocks::acquire(RwLockId lock, Share share, std::uint64_t last_writer) {
  MUSUBI_CHECK(last_writer <= fabric_.ranks());
  counters_.add(trace::Counter::lock_acquisitions);
  if (last_writer != 0) {
    const Rank writer{static_cast<std::uint32_t>(last_writer - 1)};
    MUSUBI_CHECK(writer.value < fabric_.ranks());
    if (writer != fabric_.self()) {
      counters_.add(trace::Counter::lock_handovers);
      co_await signatures_.acquire_from(writer);
    }
  }
  if (share == Share::writing) co_await acquire_from_readers(lock);
}

Task<> ReaderWriterLocks::acquire_from_readers(RwLockId lock) {
  const std::size_t words = WaitRecords::mark_words(fabric_.ranks());
  for (std::size_t i = 0; i < words; ++i) {
    std::uint64_t word = 0;
    std::array<Step, 1> step{
        fabric::get(control_region, records_.marks_at(lock.value) + i * sizeof word, &word, sizeof word)};
    co_await fabric::transfer(fabric_, records_.home(lock.value), step);
    for (; word != 0; word &= word - 1) {
      const auto bit = static_cast<std::uint32_t>(std::countr_zero(word));
      const Rank reader{static_cast<std::uint32_t>(i * ranks_per_word) + bit};
      MUSUBI_CHECK(reader.value < fabric_.ranks());
      if (reader != fabric_.self()) co_await signatures_.acquire_from(reader);
    }
  }
}

// REQUIRES: the record is open.
Task<> ReaderWriterLocks::note_reader(RwLockId lock) {
  if (hooks_.injected(InjectedBug::reader_not_noted)) co_return;
  const std::uint32_t self = fabric_.self().value;
  const std::uint64_t at = records_.marks_at(lock.value) + self / ranks_per_word * sizeof(std::uint64_t);
  const std::uint64_t mark = std::uint64_t{1} << self % ranks_per_word;
  std::uint64_t word = 0;
  std::array<Step, 1> get{fabric::get(control_region, at, &word, sizeof word)};
  co_await fabric::transfer(fabric_, records_.home(lock.value), get);
  if ((word & mark) != 0) co_return;
  word |= mark;
  std::array<Step, 1> put{fabric::put(control_region, at, &word, sizeof word)};
  co_await fabric::transfer(fabric_, records_.home(lock.value), put);
}

Task<> ReaderWriterLocks::forget_readers(RwLockId lock) {
  const std::size_t words = WaitRecords::mark_words(fabric_.ranks());
  const std::uint64_t none = 0;
  for (std::size_t i = 0; i < words; ++i) {
    std::array<Step, 1> step{
        fabric::put(control_region, records_.marks_at(lock.value) + i * sizeof none, &none, sizeof none)};
    co_await fabric::transfer(fabric_, records_.home(lock.value), step);
  }
}

}  // namespace musubi::sync
