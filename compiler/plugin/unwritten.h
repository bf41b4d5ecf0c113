#pragma once

#include "llvm/IR/Instructions.h"
#include "touches.h"

namespace musubi::compiler {

// Stores into memory that is open for stores alone, as src/checks/abi.h wants them: a value with a word that
// is UNWRITTEN must be written instead. Sets of words: bit k for the word of 4 bytes at 4 * k.

// Whether permission to store is enough for the touch: an aligned value of 4 or 8 bytes that may differ from
// UNWRITTEN.
bool may_store(const Touch& touch);

// The words of such a store's value that may be UNWRITTEN.
unsigned words_to_compare(const llvm::StoreInst& store);

}  // namespace musubi::compiler
