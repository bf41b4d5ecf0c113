#include "loaded_libraries.h"

#include <sstream>

#include "output_of.h"

namespace musubi::tools {
namespace {

// A line of the dynamic linker's list: "libm.so.6 => /lib/libm.so.6 (0x...)", "/lib64/ld-linux-x86-64.so.2
// (0x...)", "libx.so => not found".
void add_line(const std::string& line, std::vector<LoadedLibrary>& libraries) {
  std::istringstream words(line);
  std::string name, arrow, path;
  words >> name >> arrow >> path;
  if (name.empty() || name.find("vdso") != std::string::npos) return;
  if (arrow != "=>") path = name;
  if (path == "not") path.clear();
  if (path.empty() || path.starts_with('/')) libraries.push_back({name, path});
}

}  // namespace

std::vector<LoadedLibrary> loaded_libraries(const std::string& program,
                                            const std::vector<std::string>& environment) {
  std::vector<std::string> tracing = environment;
  tracing.push_back("LD_TRACE_LOADED_OBJECTS=1");
  std::vector<LoadedLibrary> libraries;
  std::istringstream lines(output_of({program}, tracing));
  for (std::string line; std::getline(lines, line);) add_line(line, libraries);
  return libraries;
}

}  // namespace musubi::tools
