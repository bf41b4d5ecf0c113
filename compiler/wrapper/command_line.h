#pragma once

#include <string>
#include <vector>

namespace musubi::wrapper {

// The steps for which a compiler is called, as its arguments say.
struct Steps {
  bool compiles = false;       // some input is source, and code is made of it
  bool links = false;          // an executable or a shared library is made
  bool makes_library = false;  // -shared
  std::string refused;         // the first argument that checked code excludes, or empty
};

// Reads files of arguments (@FILE) too, as far as they can be read.
Steps steps_of(const std::vector<std::string>& arguments);

}  // namespace musubi::wrapper
