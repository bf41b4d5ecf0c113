// Watches two places in the dynamic linker's code by changing a few of its instructions: where it maps
// memory, and where it tells debuggers that the list of loaded objects has changed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace musubi::image {

// Callbacks while the dynamic linker loads objects on the calling thread. Called under the linker's lock:
// they must not wait for another thread that loads. They may allocate memory of this library.
class LinkerWatch {
 public:
  // Address for the first piece of an object, `bytes` long; 0: the kernel chooses.
  virtual std::uintptr_t place_object(std::size_t bytes) noexcept = 0;
  // The list of objects has changed. All are mapped; no constructor of the new ones has run.
  virtual void objects_mapped() noexcept = 0;

 protected:
  ~LinkerWatch() = default;
};

// Changes the dynamic linker's code. Once, before the program has threads. Fails, with nothing changed, if
// the code is unknown.
Result<void> install_linker_hooks();

// Sets the watch of the calling thread; null: none. It sees only loads of this thread.
void watch_linker(LinkerWatch* watch) noexcept;

}  // namespace musubi::image
