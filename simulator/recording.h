// The touches of the ranks of a real job between two synchronisations (src/runtime/job/recording.h), read
// from the files that they wrote.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/address_range.h"
#include "base/result.h"
#include "vm/space.h"

namespace musubi::sim {

class Recording {
 public:
  enum class Touch : std::uint8_t { read_fault, write_fault, read, write, overwrite, store };
  enum class End : std::uint8_t { barrier, lock, unlock, release, acquire, program };

  struct Item {
    Touch touch;
    AddressRange range;
  };
  struct Interval {
    std::vector<Item> items;            // in the order of the program
    std::vector<AddressRange> changes;  // sorted: words that the rank has written
    End end = End::program;
    std::uint32_t number = 0;  // of the lock or channel, counted from 0
  };

  // The files `path`.0, `path`.1 ... Errors: damaged, of another job, or of a program whose synchronisation a
  // recording does not know.
  static Result<Recording> read(const std::string& path);

  std::uint32_t ranks() const { return static_cast<std::uint32_t>(intervals_.size()); }
  std::span<const Interval> intervals(std::uint32_t rank) const { return intervals_[rank]; }
  std::uint32_t locks() const { return static_cast<std::uint32_t>(locks_.size()); }
  std::uint32_t channels() const { return static_cast<std::uint32_t>(channels_.size()); }
  struct Barriers {
    std::uint32_t first, last;
  };
  // How many barriers come before another rank than 0 touches anything, and until none does any more.
  Barriers together() const;
  // The blocks that were touched, and a few between them.
  vm::Space space() const;

 private:
  friend class RecordingReader;
  bool are_channels_paired() const;
  // Of a segment of the real job: begin to end, as offsets, in whole units.
  std::map<std::size_t, std::size_t> touched_parts(const vm::Segment& whole, std::size_t unit) const;

  std::vector<std::vector<Interval>> intervals_;             // by rank
  std::vector<vm::Segment> segments_;                        // of the real job
  std::map<std::uint64_t, std::uint32_t> locks_, channels_;  // by the number in the real job
};

}  // namespace musubi::sim
