// The libraries that the dynamic linker would load with a program.
#pragma once

#include <string>
#include <vector>

namespace musubi::tools {

struct LoadedLibrary {
  std::string name;  // as the program asks for it
  std::string path;  // empty: not found
};

// Asks the program's dynamic linker, which starts neither the program nor a constructor. The linker itself is
// among them. Blocks until it has answered. Empty: it cannot say. REQUIRES: the program is dynamically
// linked.
std::vector<LoadedLibrary> loaded_libraries(const std::string& program,
                                            const std::vector<std::string>& environment);

}  // namespace musubi::tools
