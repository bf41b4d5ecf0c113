// The sizes and limits of the protocol, as constructor arguments: a test can use a signature of two notices.
#pragma once

#include <cstddef>
#include <cstdint>

namespace musubi::coherence {

// Faults put into the protocol on purpose, to prove that the checkers of the simulator find such faults
// (coherence.md section 9). Always `none` outside tests. The last ones need programs of a certain shape.
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

// How many notices a signature holds best. Everybody reads every notice, and most name blocks that few others
// read. So in larger jobs there are as many as travel in one message of the barrier; readers of blocks that
// no longer fit look for new versions themselves, which costs them the same in a job of any size.
constexpr std::size_t signature_notices_for(std::uint32_t ranks) {
  constexpr std::uint32_t few_ranks = 8;
  return ranks <= few_ranks ? 4096 : 56;
}

struct Parameters {
  std::uint64_t lease_ticks = 10;
  std::size_t signature_notices_max = 1024;
  std::size_t release_window = 32;             // blocks released at the same time
  std::uint32_t downgrade_after_releases = 8;  // compared in a row without a change
  std::size_t cached_bytes =
      1 << 20;  // a release that compares more finds the blocks in memory, not in a cache
  std::uint32_t read_retries_max = 16;     // then a reader takes the lock
  std::uint32_t look_after_releases = 64;  // at an unpublished block: whether it still changes
  bool leave_unpublished = true;           // blocks that nobody else reads have no public copy and no twin
  std::uint32_t fetches_ahead_max = 15;    // in a row, then the block is left to fault once; 0: none
  std::uint32_t lease_probe_releases =
      16;                         // every so many leased releases one without, to see who still reads
  std::size_t run_bytes_max = 0;  // of blocks opened together: what follows a missed block, and it; 0: none
  std::uint32_t give_back_after_releases = 64;  // quiescent ones: public copies that nobody needs; 0: never
  bool report_races = false;                    // words that two ranks have changed are noted one by one
  InjectedBug injected_bug = InjectedBug::none;
};

}  // namespace musubi::coherence
