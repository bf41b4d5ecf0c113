#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Instructions.h"

namespace musubi::compiler {

// Bytes of memory that an instruction touches, as the late phase finds them: after the vectoriser, and also
// in code that was never optimised.
struct Touch {
  enum class Kind {
    bytes,     // `bytes` from `pointer` on, a granule at most
    range,     // `length` bytes from `pointer` on
    masked,    // lanes of `bytes` each, one after the other from `pointer` on, where `mask` is set
    packed,    // as many lanes as bits of `mask` are set
    gathered,  // lanes of `bytes` at each of the pointers, where `mask` is set
  };
  Kind kind;
  llvm::Instruction* instruction;
  llvm::Value* pointer;  // a vector of pointers if gathered
  uint64_t bytes;
  llvm::Value* length;  // an integer
  llvm::Value* mask;    // a vector of i1
  llvm::Align align;    // of `pointer`
  bool writes;
};

// Appends the touches of an instruction: loads and stores, atomic and volatile ones included, intrinsics of
// memory and of masked vectors, functions of the C library with sizes, arguments passed by value. Result:
// false if the instruction may touch other memory that its operands name.
bool append_touches(llvm::Instruction& instruction, const llvm::TargetLibraryInfo& library,
                    llvm::SmallVectorImpl<Touch>& touches);

}  // namespace musubi::compiler
