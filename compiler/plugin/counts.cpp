#include "counts.h"

#include "covered.h"
#include "filter.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "touches.h"

namespace musubi::compiler {

namespace {

// By threads without order: programs of one thread are counted.
void add_one(llvm::IRBuilder<>& builder, Counted event) {
  constexpr uint64_t kinds = static_cast<uint64_t>(Counted::access) + 1;
  llvm::Type* word = builder.getInt64Ty();
  llvm::Module& module = *builder.GetInsertBlock()->getModule();
  auto* type = llvm::ArrayType::get(word, kinds);
  llvm::Constant* counts = module.getOrInsertGlobal("musubi_check_counts", type);
  llvm::Value* place = builder.CreateConstInBoundsGEP2_64(type, counts, 0, static_cast<unsigned>(event));
  llvm::LoadInst* old = builder.CreateAlignedLoad(word, place, llvm::Align(8));
  llvm::StoreInst* changed =
      builder.CreateAlignedStore(builder.CreateAdd(old, builder.getInt64(1)), place, llvm::Align(8));
  mark_covered(*old, /*writes=*/false);
  mark_covered(*changed, /*writes=*/true);
}

}  // namespace

void count(llvm::IRBuilder<>& builder, Counted event) {
  if (counted() == Count::checks) add_one(builder, event);
}

void count_accesses(llvm::Function& function, const llvm::TargetLibraryInfo& library, Mode mode) {
  Filter filter;
  llvm::SmallVector<Touch> touches;
  for (llvm::Instruction& instruction : llvm::instructions(function))
    append_touches(instruction, library, touches);
  for (const Touch& touch : touches) {
    const bool is_private = touch.kind != Touch::Kind::gathered && filter.is_private(*touch.pointer);
    llvm::IRBuilder<> builder(touch.instruction);
    if (is_checked(mode, touch.writes) && !is_private) add_one(builder, Counted::access);
  }
}

}  // namespace musubi::compiler
