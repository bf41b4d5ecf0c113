// The policy `directory`, for comparison. The home of a block keeps a list of the ranks that hold a copy. A
// rank that releases a change tells each of them to give up its copy, and waits until all have answered. An
// acquire then has nothing to do.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/sparse_array.h"
#include "coherence/home_based/fixed_home.h"

namespace musubi::coherence {

class Directory final : public FixedHome, private fabric::Listener {
 public:
  // One bit per rank and block, at the block's home; zero at start, the same size at every rank.
  static constexpr fabric::RegionId sharers_region{4};
  static constexpr std::size_t bytes_per_copy = 8;  // in addition to the bytes that all these policies need
  static std::size_t sharers_words(std::uint32_t ranks) { return (ranks + 63) / 64; }

  // Has sharers_words() words per block in sharers_region, and listens to `invalidation`.
  static constexpr fabric::MessageKind invalidation = fabric::MessageKind::unassigned;
  Directory(const vm::Space& space, fabric::Fabric& fabric, vm::Vm& vm, trace::Counters& counters,
            remote_lock::Grants& grants, const RankMemory& memory, const Parameters& parameters,
            const PrivateParts* private_parts);

  Task<> acquire(SignatureView signature, Audience audience, Scope scope) override;
  std::uint64_t signature(SignatureSink& sink) override;
  void forget(std::uint64_t) override {}
  LogicalTime clock() const override { return {}; }
  Task<> acquire_clock(LogicalTime time) override;

 private:
  // A release that waits for answers.
  struct Pending {
    std::uint64_t number;
    std::uint32_t answers_missing;
    Event all_answered;
  };
  struct Message {
    std::uint64_t block;
    std::uint64_t number;  // of the Pending
    std::uint64_t is_answer;
  };
  struct Answer {
    Rank to;
    Message message;
  };
  // `registered`: the home's list names this rank. It stays there when its copy is given up, since most come
  // back soon; only the second invalidation without a use in between takes it off. No other rank does: a
  // writer that took names off would let the next writer finish while an invalidation is still on its way.
  struct Copy {
    bool registered;
    std::uint32_t invalidations;
  };

  Task<bool> bring(Block& b, std::byte* target) override;
  Task<> publish(Block& b, Puts& puts) override;
  Task<> invalidate_at(BlockId block, const std::vector<Rank>& sharers);
  const char* on_message(Rank from, std::span<const std::byte> body) noexcept override;
  void give_up(BlockId block);
  Task<> answer_all();
  Task<> leave(BlockId block);

  std::uint64_t sharers_offset(BlockId block, std::size_t word) const {
    return (block.value * words_per_block_ + word) * sizeof(std::uint64_t);
  }
  std::uint64_t own_bit() const { return std::uint64_t{1} << (fabric_.self().value % 64); }
  std::size_t own_word() const { return fabric_.self().value / 64; }

  std::size_t words_per_block_;
  SparseArray<Copy> copies_;
  std::vector<BlockId> lost_;     // invalidated, and worth fetching at the next acquire
  std::vector<BlockId> leaving_;  // invalidated, though not used since the last time
  std::vector<Pending*> pending_;
  std::uint64_t releases_ = 0;
  std::vector<Answer> answers_;  // to be sent
  std::optional<Task<>> answering_;
  Executor* executor_ = nullptr;
};

}  // namespace musubi::coherence
