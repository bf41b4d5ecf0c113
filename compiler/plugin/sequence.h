#pragma once

#include "llvm/IR/IRBuilder.h"
#include "options.h"
#include "permission.h"
#include "src/checks/abi.h"

namespace musubi::compiler {

// The first address whose granule the test of a range does not look up, for a load of 8 states would leave
// the table. The last granules below 2^47 hold no shared memory.
inline uint64_t address_limit() {
  return ((uint64_t{1} << (MUSUBI_CHECKS_ADDRESS_BITS - granule_shift())) - 8) << granule_shift();
}

// Effects of a call of an entry on the program's memory, as passes shall see them. None: pages keep an access
// from being wrong that moved over the call, or it is a store, which no pass moves over a call that may not
// return. All: no load moves over it.
enum class Effects { none, all };

// The code of src/checks/abi.h. Addresses and sizes are integers of 64 bits.
class Sequence {
 public:
  explicit Sequence(llvm::LLVMContext& context);

  // The state of the granule of an address.
  llvm::Value* state(llvm::IRBuilder<>& builder, llvm::Value* address) const;
  // The states of two granules in one.
  llvm::Value* states(llvm::IRBuilder<>& builder, llvm::Value* first, llvm::Value* last) const;
  // Whether a state, or two in one, forbids the access.
  llvm::Value* is_closed(llvm::IRBuilder<>& builder, llvm::Value* state, Permission permission) const;
  // Whether the granule of an address or the next one forbids the access.
  llvm::Value* is_pair_closed(llvm::IRBuilder<>& builder, llvm::Value* address, Permission permission) const;
  // Whether a granule from `first` to `last` is closed; true if they are too many to look at here.
  llvm::Value* is_closed(llvm::IRBuilder<>& builder, llvm::Value* first, llvm::Value* last,
                         bool writes) const;

  // The place of an entry's address.
  llvm::Value* slot(llvm::IRBuilder<>& builder, unsigned entry) const;
  llvm::CallInst* call(llvm::IRBuilder<>& builder, llvm::Value* slot, llvm::ArrayRef<llvm::Value*> arguments,
                       Effects effects) const;

  // Splits the block before the builder's place; the builder goes on in a new block that runs if `condition`
  // holds. Result: the instruction of the old place.
  llvm::Instruction* branch(llvm::IRBuilder<>& builder, llvm::Value* condition, bool is_rare) const;

  llvm::Value* number(uint64_t value) const { return llvm::ConstantInt::get(word_, value); }
  llvm::Type* word() const { return word_; }
  llvm::Type* pointer() const { return pointer_; }

 private:
  llvm::Value* place(llvm::IRBuilder<>& builder, llvm::Value* address) const;
  llvm::Value* load(llvm::IRBuilder<>& builder, llvm::Type* type, llvm::Value* place,
                    llvm::Align align) const;

  llvm::LLVMContext& context_;
  llvm::Type* word_;
  llvm::Type* pointer_;
};

// Whether the instruction is a call of an entry.
bool is_entry(const llvm::Instruction& instruction);

}  // namespace musubi::compiler
