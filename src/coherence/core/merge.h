// The kernels that compare, copy and merge blocks: byte select, not XOR, so that two ranks that wrote the
// same new value keep it (coherence.md section 6). The widest vectors of the processor are chosen when
// merge_kernels() is called; all variants give the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace musubi::coherence {

// Bytes that both the home and this rank changed since the twin.
struct RaceCount {
  std::uint64_t bytes = 0;   // with different results
  std::uint64_t benign = 0;  // both wrote the same value
};

enum class Sharing : std::uint8_t {
  exclusive,  // no other thread can write to the private bytes meanwhile
  open,       // other threads may: only bytes that changed remotely are stored
};

struct MergeKernels {
  const char* name;
  // Whether any byte differs. Other threads may write meanwhile: what differs all the time is found, which
  // memcmp does not promise (it looks twice at the first difference, and where that has gone by then it
  // calls all bytes equal).
  bool (*differ)(const std::byte* a, const std::byte* b, std::size_t bytes);
  // Copies what differs from `from` to `to`. Result: whether anything did. One pass over memory.
  bool (*copy_changes)(std::byte* to, const std::byte* from, std::size_t bytes);
  // result = (private != twin) ? private : remote, stored to `own` (where it came from `remote`) and to
  // `twin`.
  RaceCount (*merge_into_both)(std::byte* own, std::byte* twin, const std::byte* remote, std::size_t bytes,
                               Sharing sharing);
  // The same result to `own`; `twin` becomes `remote`.
  RaceCount (*merge_and_rebase)(std::byte* own, std::byte* twin, const std::byte* remote, std::size_t bytes,
                                Sharing sharing);
};

// The best variant for this processor.
const MergeKernels& merge_kernels();
// All variants that this processor can run, best first; for tests. Result: how many were stored.
std::size_t all_merge_kernels(const MergeKernels** kernels, std::size_t max);

}  // namespace musubi::coherence
