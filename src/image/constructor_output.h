// What constructors print before main. Every rank runs the program's constructors, each on its own copy of
// the globals, but the user expects to read them once: standard output of all ranks but 0 is dropped
// meanwhile. Standard error is not, lest a message about trouble be lost.
#pragma once

namespace musubi::image {

class ConstructorOutput {
 public:
  // Sends standard output nowhere. Does nothing when that is not possible.
  void drop() noexcept;
  // Drops what is still buffered, and lets standard output pass again. Without drop() before, does nothing.
  void restore() noexcept;

 private:
  int kept_ = -1;  // the real standard output
};

}  // namespace musubi::image
