// The kernels that compare, copy and merge blocks: byte select, not XOR, so that two ranks that wrote the
// same new value keep it (coherence.md section 6). For words that must not be torn: docs/decisions/races.md.
// The widest vectors of the processor are chosen when merge_kernels() is called; all variants give the same
// bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace musubi::coherence {

// Bytes that both the home and this rank changed since the twin.
struct RaceCount {
  std::uint64_t bytes = 0;   // with different results; or the other side's, lost with a word kept whole
  std::uint64_t benign = 0;  // both wrote the same value
  const std::byte* first = nullptr;  // one of `bytes`, in the private bytes
  bool first_is_known = false;       // the rule was asked about its word
  bool joined = false;               // a word with such a byte is now that of neither side
};

enum class Sharing : std::uint8_t {
  exclusive,  // no other thread can write to the private bytes during the merge
  open,       // other threads may: only bytes that changed remotely are stored
};

// Both sides have changed bytes of the same aligned word, and merging by byte would give a word that neither
// side has. The rule says which bytes form one value: neighbours (two chars) are several, a word that two
// ranks stored to is one.
class WordRule {
 public:
  struct Conflict {
    const std::byte* place;  // of the word, in the private bytes
    std::size_t bytes;       // of the word: 4 or 8
    std::uint64_t own, twin, remote;
  };
  // Result: 1, 2, 4 or 8, at most `bytes`. Of each aligned piece of that size which this rank has changed,
  // the whole stays; all other pieces become the remote ones. If a word of 8 bytes is less than one value,
  // each half in conflict is asked for. May be asked twice about one word.
  virtual std::size_t unit_of(const Conflict& conflict) noexcept = 0;
  // Width of the words in which conflicts are looked for: 4 or 8.
  std::size_t word_bytes() const { return word_bytes_; }
  // Whether a word is kept whole only if this side stored it whole: then each change of the other side to it
  // is a race. Otherwise it may be one to a neighbour.
  bool keeps_what_is_proved() const { return keeps_what_is_proved_; }

 protected:
  WordRule(std::size_t word_bytes, bool keeps_what_is_proved)
      : word_bytes_(word_bytes), keeps_what_is_proved_(keeps_what_is_proved) {}
  ~WordRule() = default;

 private:
  std::size_t word_bytes_;
  bool keeps_what_is_proved_;
};

enum class Rebase : std::uint8_t { no, yes };

// One aligned word of 8 bytes: merged into `own` and `twin`. `twin_value` is the twin's value before.
void merge_word(std::byte* own, std::byte* twin, std::uint64_t twin_value, std::uint64_t remote,
                Sharing sharing, Rebase rebase, WordRule& rule, RaceCount& races);

struct MergeKernels {
  const char* name;
  // Whether any byte differs. Other threads may write at the same time: a difference that lasts is found.
  // memcmp does not promise that: it looks twice at the first difference, and calls all bytes equal when this
  // one has gone by the second look.
  bool (*differ)(const std::byte* a, const std::byte* b, std::size_t bytes);
  // Copies the bytes that differ from `from` to `to`. Result: whether any did. One pass over memory.
  bool (*copy_changes)(std::byte* to, const std::byte* from, std::size_t bytes);
  // result = (private != twin) ? private : remote, by byte, stored to `own` (where it came from `remote`) and
  // to `twin`. Words that would then equal neither side are merged as `rule` says, where it is not null; then
  // `own`, `twin` and `remote` lie equally far from the next address that 8 divides.
  RaceCount (*merge_into_both)(std::byte* own, std::byte* twin, const std::byte* remote, std::size_t bytes,
                               Sharing sharing, WordRule* rule);
  // The same result to `own`; `twin` becomes `remote`.
  RaceCount (*merge_and_rebase)(std::byte* own, std::byte* twin, const std::byte* remote, std::size_t bytes,
                                Sharing sharing, WordRule* rule);
};

// The best variant for this processor.
const MergeKernels& merge_kernels();
// All variants that this processor can run, best first; for tests. Result: how many were stored.
std::size_t all_merge_kernels(const MergeKernels** kernels, std::size_t max);

}  // namespace musubi::coherence
