// Locks that many readers, or one writer, hold at a time. First come, first served: waiting threads queue up,
// neighbouring readers are admitted together, and no thread overtakes a waiting one. Neither readers nor
// writers starve.
//
// A reader sees the releases of the last writer, a writer those of all earlier readers and writers: the
// lock's record contains the last writer and the ranks that have read since.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "base/task.h"
#include "coherence/protocol.h"
#include "fabric/fabric.h"
#include "hooks/hooks.h"
#include "sync/signature_reader.h"
#include "sync/wait_records.h"
#include "trace/counters.h"

namespace musubi::sync {

enum class Share : std::uint8_t { reading, writing };

class ReaderWriterLocks {
 public:
  // Lock i is record i of `records`. The signatures: see SignatureReader.
  ReaderWriterLocks(fabric::Fabric& fabric, coherence::Protocol& protocol, trace::Counters& counters,
                    WaitRecords& records, std::uint64_t signature_offset, std::size_t notices_max,
                    Hooks hooks = {})
      : fabric_(fabric),
        protocol_(protocol),
        counters_(counters),
        records_(records),
        signatures_(fabric, protocol, signature_offset, notices_max, hooks),
        hooks_(hooks) {}

  // Not recursive: a reader that asks again while a writer waits would wait for itself.
  Task<> lock(RwLockId lock, Share share);
  // Does not wait for holders of the lock or its queue.
  Task<bool> try_lock(RwLockId lock, Share share);
  // REQUIRES: a task of this rank holds it in this way.
  Task<> unlock(RwLockId lock, Share share);

 private:
  static constexpr std::uint64_t held_by_writer = ~std::uint64_t{0};

  static bool is_open_for(const WaitRecord& record, Share share);
  static void enter(WaitRecord& record, Share share);
  Task<> admit(WaitRecords::Opened& opened);
  Task<> acquire(RwLockId lock, Share share, std::uint64_t last_writer);
  Task<> acquire_from_readers(RwLockId lock);
  Task<> note_reader(RwLockId lock);
  Task<> forget_readers(RwLockId lock);

  fabric::Fabric& fabric_;
  coherence::Protocol& protocol_;
  trace::Counters& counters_;
  WaitRecords& records_;
  SignatureReader signatures_;
  [[no_unique_address]] const Hooks hooks_;
};

}  // namespace musubi::sync
