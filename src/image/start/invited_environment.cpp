#include "image/start/invited_environment.h"

#include <algorithm>
#include <string_view>

#include "config/environment.h"

namespace musubi::image {
namespace {

constexpr std::string_view preload_variable = "LD_PRELOAD=";
constexpr std::string_view library_name = "libmusubi-omp.so";

struct Kept {
  std::vector<std::string> variables;  // `NAME=value`
  std::string library;                 // the path that is preloaded
};
// Interposed calls have no argument for it. Never destroyed.
constinit Kept* kept = nullptr;

bool makes_join(std::string_view variable) {
  return variable.starts_with("MUSUBI_") || variable.starts_with("LD_BIND_NOW=");
}

std::string_view name_of(std::string_view variable) {
  return variable.substr(0, variable.find('=') + 1);
}

// "/a/libx.so:/b/libmusubi-omp.so" -> "/b/libmusubi-omp.so"
std::string library_in(std::string_view paths) {
  const std::size_t at = paths.find(library_name);
  if (at == std::string_view::npos) return {};
  const std::size_t before = paths.find_last_of(": ", at);
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  return std::string(paths.substr(begin, paths.find_first_of(": ", at) - begin));
}

}  // namespace

void keep_invitation() {
  if (!config::environment_variable(config::job_variable)) return;
  kept = new Kept;
  for (const std::string& variable : config::environment_variables()) {
    if (makes_join(variable)) kept->variables.push_back(variable);
    if (variable.starts_with(preload_variable))
      kept->library = library_in(std::string_view(variable).substr(preload_variable.size()));
  }
}

InvitedEnvironment::InvitedEnvironment(char* const* given) : given_(given) {
  if (kept == nullptr) return;
  std::vector<char*> list;
  bool preloads = kept->library.empty();
  for (char* const* variable = given; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (text.starts_with(preload_variable) && text.find(library_name) == std::string_view::npos) {
      preload_ = ":" + std::string(text.substr(preload_variable.size()));
      continue;
    }
    preloads = preloads || text.starts_with(preload_variable);
    list.push_back(*variable);
  }
  const std::size_t of_given = list.size();
  for (std::string& variable : kept->variables) {
    const bool is_there = std::any_of(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(of_given),
                                      [&](const char* one) { return name_of(one) == name_of(variable); });
    if (!is_there) list.push_back(variable.data());
  }
  if (!preloads) {
    preload_ = std::string(preload_variable) + kept->library + preload_;
    list.push_back(preload_.data());
  }
  if (preloads && list.size() == of_given) return;
  list.push_back(nullptr);
  list_ = std::move(list);
}

}  // namespace musubi::image
