#include "host_facts.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "base/hash.h"
#include "elf_file.h"
#include "loaded_libraries.h"
#include "os/memory.h"
#include "output_of.h"
#include "program_file.h"

namespace musubi::tools {
namespace {

using launch::Fact;

const char* const same_file = "copy the same file to all hosts";

std::string hash_of(const std::string& contents) {
  char text[24];
  std::snprintf(text, sizeof text, "%016lx",
                static_cast<unsigned long>(fnv_hash(contents.data(), contents.size())));
  return text;
}

std::string contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream contents;
  contents << file.rdbuf();
  return contents.str();
}

std::string identity_of(const std::string& path) {
  auto elf = read_elf_file(path);
  if (!elf) return elf.error().message;
  if (!elf.value().build_id.empty()) return "build id " + elf.value().build_id;
  return "contents " + hash_of(contents_of(path));
}

void add_libraries(const std::string& program, const std::vector<std::string>& environment,
                   std::vector<Fact>& facts, std::string& loader) {
  for (const LoadedLibrary& library : loaded_libraries(program, environment)) {
    const std::string subject = "library " + library.name.substr(library.name.rfind('/') + 1);
    if (library.name.find("ld-linux") != std::string::npos) loader = library.path;
    if (library.path.empty()) {
      facts.push_back({subject, "not found", "install it on all hosts"});
    } else {
      facts.push_back({subject, identity_of(library.path), "install the same one on all hosts"});
    }
  }
}

// The C library chooses functions by the features of the processor, and pointers to them are in shared data.
void add_processor(const std::string& loader, std::vector<Fact>& facts) {
  std::string chosen_by;
  std::istringstream lines(output_of({loader, "--list-diagnostics"}, {}));
  for (std::string line; std::getline(lines, line);) {
    const bool counts =
        line.starts_with("x86.cpu_features.") &&
        (line.find("active[") != std::string::npos || line.find("preferred[") != std::string::npos);
    if (counts) chosen_by += line + "\n";
  }
  if (chosen_by.empty()) return;
  facts.push_back(
      {"the set of the processor's features", hash_of(chosen_by), "use hosts with one kind of processor"});
}

}  // namespace

launch::Greeting greeting() {
  return {MUSUBI_VERSION, identity_of("/proc/self/exe")};
}

Result<std::vector<Fact>> host_facts(const launch::JobOrder& order) {
  const ProgramPath found = find_program(order.program);
  if (found.path.empty()) return Error{found.error.message + "; " + same_file};
  auto program = read_elf_file(order.program);
  if (!program) return program.error();
  std::vector<Fact> facts = {
      {"program " + order.program, identity_of(order.program), same_file},
      {"the page size", std::to_string(os::page_bytes()) + " bytes", "use hosts with one page size"}};
  std::string loader;
  if (program.value().kind == FileKind::dynamic_program) {
    add_libraries(order.program, order.environment, facts, loader);
  } else if (program.value().kind == FileKind::script) {
    std::istringstream first_line(contents_of(order.program).substr(2, 256));
    std::string interpreter;
    first_line >> interpreter;
    facts.push_back({"interpreter " + interpreter, identity_of(interpreter), same_file});
    auto elf = read_elf_file(interpreter);
    if (elf.ok() && elf.value().kind == FileKind::dynamic_program)
      add_libraries(interpreter, order.environment, facts, loader);
  }
  if (!loader.empty()) add_processor(loader, facts);
  return facts;
}

}  // namespace musubi::tools
