#include "overwritten.h"

#include "llvm/Analysis/MemoryLocation.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LLVMContext.h"

namespace musubi::compiler {

namespace {

// Each read costs a comparison of bounds before the loop.
constexpr size_t kApartMax = 4;

// All memory that pointers based on `pointer` may name. Scopes of restrict are left out: they hold for one
// iteration where the pointer is declared in the loop.
llvm::MemoryLocation anywhere_from(const llvm::Value* pointer, const llvm::Instruction& access) {
  llvm::AAMDNodes tags;
  if (!llvm::isa<llvm::MemIntrinsic>(access)) tags.TBAA = access.getMetadata(llvm::LLVMContext::MD_tbaa);
  return llvm::MemoryLocation(pointer, llvm::LocationSize::beforeOrAfterPointer(), tags);
}

const llvm::Value* pointer_read_by(const llvm::Instruction& instruction) {
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) return load->getPointerOperand();
  const auto* transfer = llvm::dyn_cast<llvm::MemTransferInst>(&instruction);
  return transfer == nullptr ? nullptr : transfer->getSource();
}

using Reads = std::vector<const Range*>;

const Range* range_that_reads(const llvm::Instruction& instruction, const Reads& reads) {
  for (const Range* range : reads)
    if (llvm::is_contained(range->accesses, &instruction)) return range;
  return nullptr;
}

// Whether `instruction` reads no byte of the whole range, perhaps after a comparison at run time.
bool is_apart(Range& whole, const llvm::Instruction& instruction, const Reads& reads,
              llvm::AAResults& aliases) {
  const llvm::Value* pointer = pointer_read_by(instruction);
  if (pointer == nullptr) return true;
  const llvm::Value* base = llvm::cast<llvm::SCEVUnknown>(whole.base)->getValue();
  const llvm::MemoryLocation read = anywhere_from(pointer, instruction);
  const auto is_elsewhere = [&](const llvm::Instruction* write) {
    return aliases.isNoAlias(anywhere_from(base, *write), read);
  };
  if (llvm::all_of(whole.accesses, is_elsewhere)) return true;
  const Range* range = range_that_reads(instruction, reads);
  // Bounds of a read that may not happen may be any numbers; bounds at the same base overlap, mostly.
  const bool may_be_empty = range != nullptr && !range->guards.empty() && !range->only_density;
  if (range == nullptr || range->conditional || may_be_empty || range->base == whole.base) return false;
  for (const Extent& known : whole.apart)
    if (known.base == range->base && known.begin == range->begin && known.end == range->end) return true;
  whole.apart.push_back({range->base, range->begin, range->end});
  return whole.apart.size() <= kApartMax;
}

bool is_overwritten(const LoopFacts& facts, Range& whole, const Reads& reads, llvm::AAResults& aliases) {
  if (!facts.only_accesses) return false;
  for (const llvm::BasicBlock* block : facts.loop->blocks())
    for (const llvm::Instruction& instruction : *block)
      if (!is_apart(whole, instruction, reads, aliases)) return false;
  return true;
}

}  // namespace

void decide_overwritten(const LoopFacts& facts, std::vector<Range>& ranges, const std::vector<Range>& sparse,
                        llvm::AAResults& aliases) {
  Reads reads;
  for (const Range& range : llvm::concat<const Range>(ranges, sparse))
    if (!range.writes) reads.push_back(&range);
  for (Range& range : ranges)
    if (range.whole && !is_overwritten(facts, range, reads, aliases)) range.whole = false;
}

void decide_overwritten(Range& range, const Range* source) {
  if (source == nullptr) return;
  if (source->base == nullptr)
    range.whole = false;
  else
    range.apart.push_back({source->base, source->begin, source->end});
}

}  // namespace musubi::compiler
