// Two places in the dynamic linker's code that this process watches, by changing a few of its instructions:
// where it maps memory, and where it tells debuggers that the list of loaded objects has changed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace musubi::image {

// Work that the dynamic linker does while it loads objects on the calling thread. Called under the linker's
// lock: nothing here may wait for another thread that loads. Memory of this library may be allocated.
class LinkerWatch {
 public:
  // Where to map the first piece of an object, of that many bytes; 0: wherever the kernel likes.
  virtual std::uintptr_t place_object(std::size_t bytes) noexcept = 0;
  // The list of objects has changed. All are mapped; no constructor of the new ones has run.
  virtual void objects_mapped() noexcept = 0;

 protected:
  ~LinkerWatch() = default;
};

// Changes the dynamic linker's code. Once, before the program has threads. Fails when it is not the code that
// is known: then nothing was changed.
Result<void> install_linker_hooks();

// The watch of the calling thread, or null. Only what is loaded while there is one is reported.
void watch_linker(LinkerWatch* watch) noexcept;

}  // namespace musubi::image
