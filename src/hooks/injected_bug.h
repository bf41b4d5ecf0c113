// Faults put into the protocols on purpose, to prove that the checkers of the simulator find such faults
// (docs/design/coherence.md, section 9). The last ones need programs of a certain shape.
#pragma once

#include <cstdint>

namespace musubi {

enum class InjectedBug : std::uint8_t {
  none,
  handover_skipped,          // unlock forgets the rank that waits
  notice_forgotten,          // a release adds no notice
  lease_not_rechecked,       // a reader does not look at the owner word again after it has extended the lease
  wrong_twin,                // a merge takes the fetched bytes as the twin
  less_for_less_or_equal,    // a copy is kept although its lease ends before the notice's version
  silent_after_lease,        // a home releases silently although a reader holds a lease
  version_not_raised,        // unlock leaves the version of the owner word
  overflow_without_minimum,  // a full signature drops a notice and does not raise its minimum
  listed_too_late,           // a block is opened for writing before releases look at it
  forgotten_too_early,       // a barrier drops notices although threads of the job do not wait at it
  taken_change_kept_quiet,   // a home that finds no difference makes no version of what a taker published
  taken_copy_not_renamed,    // a reader that takes live bytes with the lock calls them by the home's version
  twin_without_version,      // a home makes a twin of an unpublished block and does not raise its version
  dropped_copy_not_told,     // public_ts still names a public copy whose memory was given back
  dropped_copy_not_noticed,  // a reader does not look whether the copy that it reads is being given back
  shown_before_acquired,     // no acquire follows what came into open pages of a program with plain flags
  stack_without_gate,        // a release looks at a live part while another thread publishes the block
  not_as_of_now,          // a release beside running threads is no second look at what they write meanwhile
  release_not_announced,  // readers of plain flags do not hear of releases that are under way
  difference_seen_twice,  // a comparison looks again at the first difference, and believes the second look
  words_merged_by_byte,   // a merge joins halves of words that two ranks stored to
};

}  // namespace musubi
