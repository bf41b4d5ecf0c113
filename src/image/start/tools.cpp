#include "image/start/tools.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "config/environment.h"
#include "image/libraries/loaded_objects.h"
#include "image/process/real_function.h"
#include "omp/tool_search.h"

namespace musubi::image {
namespace {

constexpr const char* entry_of_tool = "ompt_start_tool";

void warn(const std::string& line) {
  const std::string text = "musubi: " + line + "\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

std::string variable(const char* name) {
  return config::environment_variable(name).value_or("");
}

bool are_wanted() {
  return omp::offer_tools != nullptr && variable("OMP_TOOL") != "disabled";
}

// Another runtime, which is idle, has an entry that looks for the tool itself.
bool is_runtime(const link_map& object) {
  return std::ranges::any_of(std::initializer_list<const char*>{"libomp", "libiomp5", "libmusubi*"},
                             [&](const char* name) { return is_library(object.l_name, name); });
}

// The loaded objects that contain a tool, in the linker's order.
std::vector<link_map*> objects_with_tools() {
  std::vector<link_map*> result = linked_objects();
  std::erase_if(result, [](const link_map* object) {
    return is_runtime(*object) || exported_address(*object, entry_of_tool) == nullptr;
  });
  return result;
}

bool is_program(const link_map& object) {
  return &object == _r_debug.r_map;
}

// The descriptor that OMP_TOOL_VERBOSE_INIT names; -1: none.
int log_descriptor() {
  const std::string where = variable("OMP_TOOL_VERBOSE_INIT");
  if (where.empty() || where == "disabled") return -1;
  if (where == "stdout") return STDOUT_FILENO;
  if (where == "stderr") return STDERR_FILENO;
  const int file = ::open(where.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) warn("cannot open the file of OMP_TOOL_VERBOSE_INIT: " + where);
  return file;
}

// Null: `log` has the reason.
link_map* load(const std::string& path, std::string& log) {
  using Open = void* (*)(const char*, int);
  const auto open = reinterpret_cast<Open>(next_definition("dlopen"));
  log += "Opening " + path + "... ";
  auto* const object = static_cast<link_map*>(open(path.c_str(), RTLD_LAZY));
  if (object != nullptr) {
    log += "Success.\n";
    return object;
  }
  const auto error = reinterpret_cast<char* (*)()>(next_definition("dlerror"));
  const char* const reason = error();
  log += std::string("Failed: ") + (reason == nullptr ? "unknown" : reason) + "\n";
  return nullptr;
}

void add_listed(LibraryChoice& choice, omp::ToolSearch& search) {
  const std::string paths = variable("OMP_TOOL_LIBRARIES");
  if (paths.empty()) {
    search.log += "No OMP_TOOL_LIBRARIES defined.\n";
    return;
  }
  search.log += "Searching tool libraries...\nOMP_TOOL_LIBRARIES = " + paths + "\n";
  for (std::size_t begin = 0; begin < paths.size();) {
    const std::size_t end = std::min(paths.find(':', begin), paths.size());
    const std::string path = paths.substr(begin, end - begin);
    begin = end + 1;
    if (path.empty()) continue;
    const link_map* const object = load(path, search.log);
    if (object == nullptr) continue;
    choice.make_private(object->l_name);
    search.log += std::string("Searching for ") + entry_of_tool + " in " + path + "... ";
    void* const start = exported_address(*object, entry_of_tool);
    search.log += start != nullptr ? "Success.\n" : "Failed.\n";
    if (start != nullptr) search.candidates.push_back({start, path, false});
  }
}

}  // namespace

void keep_tools_private(LibraryChoice& choice) {
  if (!are_wanted()) return;
  for (const link_map* object : objects_with_tools()) {
    if (!is_program(*object)) choice.make_private(object->l_name);
  }
}

std::vector<AddressRange> find_tools(LibraryChoice& choice, bool is_first_rank) {
  const std::string wanted = variable("OMP_TOOL");
  if (is_first_rank && !wanted.empty() && wanted != "enabled" && wanted != "disabled")
    warn("OMP_TOOL='" + wanted + "' is not understood and ignored: give enabled or disabled");
  if (omp::offer_tools == nullptr) {
    if (is_first_rank && !variable("OMP_TOOL_LIBRARIES").empty())
      warn(
          "OMP_TOOL_LIBRARIES is ignored: this build has no interface for tools; build it where libomp's "
          "omp-tools.h is installed");
    return {};
  }
  if (!are_wanted()) return {};
  omp::ToolSearch search;
  if (is_first_rank) search.log_descriptor = log_descriptor();
  search.log =
      "----- START LOGGING OF TOOL REGISTRATION -----\nSearch for OMP tool in current address space... ";
  for (const link_map* object : objects_with_tools()) {
    search.candidates.push_back({exported_address(*object, entry_of_tool),
                                 is_program(*object) ? "the program" : object->l_name, is_program(*object)});
  }
  search.log += search.candidates.empty() ? "Failed.\n" : "Success.\n";
  if (search.candidates.empty()) add_listed(choice, search);
  std::vector<AddressRange> ranges;
  for (const LoadedObject& object : loaded_objects()) {
    const bool is_tool = std::ranges::any_of(search.candidates, [&](const omp::ToolCandidate& candidate) {
      return !candidate.is_of_program &&
             object.range.contains(reinterpret_cast<std::uintptr_t>(candidate.start));
    });
    if (is_tool) ranges.push_back(object.range);
  }
  omp::offer_tools(std::move(search));
  return ranges;
}

}  // namespace musubi::image
