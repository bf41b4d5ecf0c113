#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/Instructions.h"

namespace musubi::compiler {

// Bytes of memory that an instruction touches, from `pointer` on.
struct Access {
  llvm::Instruction* instruction;
  llvm::Value* pointer;
  const llvm::SCEV* bytes;  // an integer of 64 bits
  bool writes;
  bool whole;         // a write of every byte
  bool is_intrinsic;  // memset, memcpy, memmove
};

// Appends the accesses of an instruction: one of a load, a store or a memset, two of a copy. Atomic and
// volatile instructions have none here: they may synchronise (sync_free.h).
void append_accesses(llvm::Instruction& instruction, llvm::ScalarEvolution& evolution,
                     llvm::SmallVectorImpl<Access>& accesses);

// Whether the instruction's only effects on memory are its accesses.
bool has_only_accesses(const llvm::Instruction& instruction);

}  // namespace musubi::compiler
