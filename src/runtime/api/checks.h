// Accesses that the program, or the code that a compiler has made of it, announces before it makes them:
// then no fault stops it, and blocks come side by side.
#pragma once

#include <span>

#include "base/address_range.h"
#include "vm/vm.h"

namespace musubi::runtime {

// Any attached thread, also in a handler. Ranges may name any addresses: a range may be empty, and ends
// before its first address that is not shared. In one memory nothing is to be done.
class Checks {
 public:
  // Makes all blocks of the ranges readable, or writable too, as faults would. Blocks until they are here,
  // release_window runs of them at a time.
  virtual void open_all(std::span<const AddressRange> ranges, vm::Access wanted) = 0;
  void open(AddressRange range, vm::Access wanted) { open_all({&range, 1}, wanted); }
  // Makes them writable. The caller stores to every byte of the range before it, or another rank that
  // synchronises with it, reads any: blocks that lie wholly inside may lose their bytes, and need not be
  // fetched. Blocks.
  virtual void overwrite(AddressRange range) = 0;
  // A hint: the caller stores nothing to the range before it synchronises next, so its changes may be sent
  // now. Blocks until they are.
  virtual void written(AddressRange range) = 0;

  // The program may have opened libraries: ends the job if the compiled checks of all loaded objects no
  // longer follow one contract with one granule, or one of them leaves accesses unchecked and the job has
  // memory without protection. Cheap if nothing was loaded since the last call.
  virtual void objects_opened() = 0;

 protected:
  ~Checks() = default;
};

}  // namespace musubi::runtime
