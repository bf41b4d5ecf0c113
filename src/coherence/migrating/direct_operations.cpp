#include "coherence/migrating/direct_operations.h"

#include "coherence/regions.h"
#include "coherence/rules/atomics.h"
#include "coherence/rules/states.h"
#include "coherence/rules/writers.h"

namespace musubi::coherence::migrating {

using remote_lock::OwnerWord;

bool DirectOperations::modify(BlockId id, Modification& modification) {
  const Loan loan{loan_of(id).load()};
  if (!loan.is_given() || modification.operation == nullptr) return false;
  const AtomicOperation& operation = *modification.operation;
  const vm::Extent extent = ground_.space.extent(id);
  if (!is_one_instruction(operation, modification.offset) ||
      ground_.store.is_private(extent.offset + modification.offset, modification.bytes))
    return false;
  const Operators::Announcement announced(ground_.operators, id);
  if (!announced) return false;
  ground_.others_may_act();
  if (!stands(id, loan, modification)) return false;
  ground_.others_may_act();
  std::byte* const bytes = ground_.fabric.direct(loan.home(), private_region) + extent.offset;
  const AtomicValue old = modify_in_place(bytes + modification.offset, operation);
  const AtomicValue next = musubi::apply(operation, old);
  ground_.store.hooks().took_effect(modification.witness, &old, &next);
  ground_.others_may_act();
  modification.takes_writes_along = false;
  modification.found(old);
  ground_.count(Counter::atomics);
  ground_.count(Counter::direct_atomics);
  return true;
}

// Announced. The rank is still the home, nobody is in the block's critical section, nobody holds the version,
// it is the one that this rank has told of, and there is no public copy to be kept equal.
bool DirectOperations::stands(BlockId id, Loan loan, const Modification& modification) const {
  std::byte* const region = ground_.fabric.direct(loan.home(), words_region);
  BlockWords& words = *reinterpret_cast<BlockWords*>(region + word_offset(id, 0));
  const Rank initial_home = ground_.space.initial_home(id);
  const OwnerWord owner = OwnerWord{ground_.shared(words.owner).load()}.resolved(loan.home(), initial_home);
  if (owner != OwnerWord::unlocked()) return false;
  if ((ground_.shared(words.stillness).load() & BlockWords::operated) == 0) return false;
  const LogicalTime write_ts{ground_.shared(words.write_ts).load()};
  const LogicalTime read_ts{ground_.shared(words.read_ts).load()};
  if (rules::name_of_version(write_ts) != loan.name() && !ground_.injected(InjectedBug::operated_untold))
    return false;
  if (!rules::is_unread({write_ts, read_ts}) && !ground_.injected(InjectedBug::operated_on_leased))
    return false;
  if (ground_.shared(words.public_ts).load() != 0) return false;
  const std::uint64_t touched = rules::atomic_words_of(modification.offset, modification.bytes);
  if ((ground_.shared(words.atomic_words).load() & touched) != touched) return false;
  return !ground_.visits.keeps_order() && !keeps_order_at(loan.home());
}

bool DirectOperations::keeps_order_at(Rank home) const {
  const VisitLayout& layout = ground_.visits.layout();
  std::byte* const region = ground_.fabric.direct(home, words_region);
  const auto word = [&](std::uint64_t offset) {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(region + offset)).load();
  };
  return word(layout.order()) != 0 || word(layout.held_back()) != 0;
}

// At another home: only while nothing of the block can be seen here but at that home.
void DirectOperations::lend(Block& b, Rank home, LogicalTime write_ts) {
  const Entry& e = b.entry;
  if (ground_.home_side.has_far_peers || e.pinned || e.held_back) return;
  if (home != ground_.self() && !let_go(b)) return;
  loan_of(b.id).store((std::uint64_t{home.value} + 1) << 32 | rules::name_of_version(write_ts));
}

// Result: whether no thread here sees the block, and nothing that they wrote is unreleased. An open copy ends
// when it has cost more, by keeping operations from the loan, than it would to fetch it again.
bool DirectOperations::let_go(Block& b) {
  constexpr std::uint64_t operations_in_vain_max = 64;
  Entry& e = b.entry;
  if (e.state == State::invalid_clean) return e.came_in == 0;
  const Loan last{loan_of(b.id).load()};
  const std::uint64_t in_vain = last.is_given() ? 1 : last.raw + 1;
  loan_of(b.id).store(in_vain % operations_in_vain_max);
  if (in_vain < operations_in_vain_max || e.gave_up_copy) return false;
  if (rules::is_valid(e)) leases_.end_copy(b);
  if (e.state == State::invalid_dirty) {
    ground_.count(Counter::comparisons);
    if (twins_.differs(b)) return false;
    e.state = State::invalid_clean;
    e.published_equals = true;
  }
  return e.came_in == 0;
}

}  // namespace musubi::coherence::migrating
