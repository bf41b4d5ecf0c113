#pragma once

#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/Value.h"

namespace musubi::compiler {

// Which memory of one function no other thread can see: a local variable whose address does not leave the
// function, a constant, or storage of one thread. Everything else may be shared: in programs of Musubi,
// globals, heap and stacks are. Remembers its findings, until the function changes.
class Filter {
 public:
  bool is_private(const llvm::Value& pointer);

 private:
  llvm::DenseMap<const llvm::Value*, bool> known_;  // by object
};

}  // namespace musubi::compiler
