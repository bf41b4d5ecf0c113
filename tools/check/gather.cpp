#include "check/gather.h"

#include <gnu/libc-version.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "atomics/patch.h"
#include "atomics/site.h"
#include "config/environment.h"
#include "image/libraries/object_names.h"
#include "loaded_libraries.h"
#include "program_file.h"
#include "program_refusals.h"

namespace musubi::tools::check {
namespace {

std::optional<Code> code_of(const std::string& path) {
  auto scan = atomics::find_sites_of_file(path);
  if (!scan) return std::nullopt;
  const atomics::PatchReport report = atomics::forecast(scan.value());
  const auto& sites = scan.value().sites;
  Code code;
  code.fences = report.fences;
  code.atomics = sites.size() - report.fences;
  code.meetings =
      static_cast<std::size_t>(std::ranges::count(sites, AtomicOrder::meeting, &atomics::Site::order));
  code.breakpoints = report.traps;
  code.unsupported = scan.value().unsupported;
  code.undecided = scan.value().undecided;
  const auto spins = atomics::file_has_spin_loops(path);
  code.spin_loops = spins.ok() && spins.value();
  return code;
}

// The compilers that made the code. Without a comment about code that only starts the program.
std::vector<std::string> compilers_of(const std::string& path) {
  const std::string comments = section_of_file(path, ".comment");
  std::vector<std::string> compilers;
  for (std::size_t at = 0; at < comments.size();) {
    const std::string one = comments.c_str() + at;
    at += one.size() + 1;
    if (!one.empty() && !one.starts_with("Linker:") && std::ranges::count(compilers, one) == 0)
      compilers.push_back(one);
  }
  const auto is_gcc = [](const std::string& one) { return one.starts_with("GCC:"); };
  // The C library's startup code is always gcc's.
  if (!std::ranges::all_of(compilers, is_gcc)) std::erase_if(compilers, is_gcc);
  return compilers;
}

bool has_one_from(const std::vector<std::string>& imports, const char* prefix) {
  const auto first = std::ranges::lower_bound(imports, std::string(prefix));
  return first != imports.end() && first->starts_with(prefix);
}

std::string language_of(const std::string& path, const ElfFile& file) {
  if (has_one_from(file.imports, "_gfortran_") || has_one_from(file.imports, "_Fortran")) return "Fortran";
  if (!section_of_file(path, ".go.buildinfo").empty()) return "Go";
  if (file_holds(path, "rustc version")) return "Rust";
  if (has_one_from(file.imports, "_Z")) return "C++";
  return file.imports.empty() ? "" : "C";
}

// A private library keeps the libraries that it needs private, too: it must never find data of another rank.
void choose_private(std::vector<Part>& parts, const std::vector<std::vector<std::string>>& needed,
                    const config::Settings& settings) {
  for (std::size_t i = 1; i < parts.size(); ++i)
    parts[i].is_private =
        image::is_named_private(parts[i].name, settings.private_libraries, settings.shared_libraries);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 1; i < parts.size(); ++i) {
      for (std::size_t k = 1; parts[i].is_private && k < parts.size(); ++k) {
        if (parts[k].is_private || std::ranges::count(needed[i], parts[k].name) == 0) continue;
        if (image::is_one_of(parts[k].name, settings.shared_libraries)) continue;
        parts[k].is_private = changed = true;
      }
    }
  }
}

Part part_of(const std::string& name, const std::string& path, const std::vector<std::string>& imports) {
  Part part;
  part.name = image::file_name_of(name);
  part.path = path;
  part.imports = imports;
  part.waits = std::ranges::any_of(atomics::functions_of_waits, [&](std::string_view function) {
    return std::ranges::binary_search(imports, function);
  });
  return part;
}

void add_libraries(const std::string& program, std::vector<std::vector<std::string>>& needed, Facts& facts) {
  const std::vector<std::string> none;
  for (const LoadedLibrary& library : loaded_libraries(program, config::environment_variables())) {
    if (library.path.empty()) {
      facts.missing.push_back(library.name);
      continue;
    }
    auto file = read_elf_file(library.path);
    facts.parts.push_back(part_of(library.name, library.path, file ? file.value().imports : none));
    needed.push_back(file ? file.value().needed : none);
  }
}

// The entry points of OpenMP that the preloaded library does not define.
void add_unserved(Facts& facts) {
  std::vector<std::string> asked;
  for (const Part& part : facts.parts) {
    if (part.is_private) continue;
    for (const std::string& name : part.imports) {
      const bool is_of_openmp =
          name.starts_with("GOMP_") || name.starts_with("omp_") || name.starts_with("__kmpc_");
      if (is_of_openmp) asked.push_back(name);
    }
  }
  if (asked.empty()) return;
  auto library = find_preloaded_library();
  if (library) facts.unserved = not_defined_by(library.value(), asked);
}

void add_program(const std::string& path, const ElfFile& file, const config::Settings& settings,
                 Facts& facts) {
  facts.language = language_of(path, file);
  facts.compilers = compilers_of(path);
  facts.c_library_needed = file.c_library_needed;
  facts.has_ranks_of_its_own = std::ranges::any_of(file.needed, [](const std::string& name) {
    return name.starts_with("libmusubi") && !name.starts_with("libmusubi-omp");
  });
  facts.only_starts_others = image::only_starts_others(path);
  std::vector<std::vector<std::string>> needed{file.needed};
  facts.parts.push_back(part_of(path, path, file.imports));
  if (file.kind == FileKind::dynamic_program &&
      refusals_of(path, file, Preload::always).empty())  // its dynamic linker can be started
    add_libraries(path, needed, facts);
  choose_private(facts.parts, needed, settings);
  add_unserved(facts);
  if (facts.has_ranks_of_its_own || facts.only_starts_others) return;
  for (Part& part : facts.parts) {
    if (!part.is_private) part.code = code_of(part.path);
  }
}

// The program that the kernel starts for a script, or the one that `env` starts there. Empty: none is named.
std::string interpreter_of(const std::string& script) {
  std::ifstream file(script);
  std::string line, program, argument;
  std::getline(file, line);
  std::istringstream words(line.substr(std::min<std::size_t>(line.size(), 2)));
  words >> program;
  if (image::file_name_of(program) != "env") return program;
  while (words >> argument && argument.starts_with('-')) {
  }
  const ProgramPath found = find_program(argument);
  return found.path.empty() ? argument : found.path;
}

std::optional<std::string> levels_of_environment() {
  for (const char* name : {"OMP_MAX_ACTIVE_LEVELS", "OMP_NESTED"}) {
    const auto value = config::environment_variable(name);
    if (value) return name + ("=" + *value);
  }
  return std::nullopt;
}

}  // namespace

Result<Facts> gather(const std::string& path, const config::Settings& settings) {
  auto file = read_elf_file(path);
  if (!file) return file.error();
  Facts facts;
  facts.path = path;
  facts.kind = file.value().kind;
  facts.c_library_here = ::gnu_get_libc_version();
  facts.active_levels = levels_of_environment();
  for (const Error& refusal : refusals_of(path, file.value(), Preload::automatic))
    facts.refusals.push_back(refusal.message);
  const bool has_code = facts.kind == FileKind::dynamic_program || facts.kind == FileKind::static_program ||
                        facts.kind == FileKind::library;
  if (has_code) add_program(path, file.value(), settings, facts);
  if (facts.kind != FileKind::script) return facts;
  facts.interpreter = interpreter_of(path);
  auto interpreter = read_elf_file(facts.interpreter);
  if (!interpreter)
    return Error{path + " is a script for a program that cannot be used: " + interpreter.error().message};
  for (const Error& refusal : refusals_of(facts.interpreter, interpreter.value(), Preload::automatic))
    facts.refusals.push_back(refusal.message);
  if (interpreter.value().kind == FileKind::dynamic_program)
    add_program(facts.interpreter, interpreter.value(), settings, facts);
  return facts;
}

}  // namespace musubi::tools::check
