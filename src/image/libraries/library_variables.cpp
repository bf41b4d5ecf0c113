#include "image/libraries/library_variables.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstring>

#include "image/process/real_function.h"

namespace musubi::image {

void LibraryVariables::start() noexcept {
  Variable* variable = variables_.data();
#define MUSUBI_VARIABLE(type, name) *variable++ = {::dlsym(RTLD_DEFAULT, #name), sizeof(type)};
#include "image/libraries/library_variables.def"
#undef MUSUBI_VARIABLE
  first_ = values();
  sent_.values = first_;
  note_environment();
}

LibraryVariables::Values LibraryVariables::values() const noexcept {
  Values found{};
  for (std::size_t i = 0; i < variable_count; ++i) {
    if (variables_[i].place != nullptr) std::memcpy(&found[i], variables_[i].place, variables_[i].bytes);
  }
  return found;
}

std::string_view LibraryVariables::changes() noexcept {
  Message now{sent_.changed, values()};
  for (std::size_t i = 0; i < variable_count; ++i) {
    if (now.values[i] != first_[i]) now.changed |= std::uint64_t{1} << i;
  }
  if (now == sent_) return {};
  sent_ = now;
  return {reinterpret_cast<const char*>(&sent_), sizeof sent_};
}

void LibraryVariables::take(std::string_view given) noexcept {
  Message wanted;
  if (given.size() != sizeof wanted) return;
  std::memcpy(static_cast<void*>(&wanted), given.data(), sizeof wanted);
  for (std::size_t i = 0; i < variable_count; ++i) {
    const bool was_changed = (sent_.changed >> i & 1) != 0 && wanted.values[i] == sent_.values[i];
    if ((wanted.changed >> i & 1) == 0 || was_changed || variables_[i].place == nullptr) continue;
    std::memcpy(variables_[i].place, &wanted.values[i], variables_[i].bytes);
  }
  sent_ = wanted;
  reinterpret_cast<void (*)()>(next_definition("tzset"))();
}

void LibraryVariables::note_environment() noexcept {
  known_environment_ = environ;
}

bool LibraryVariables::is_environment_new() const noexcept {
  return environ != known_environment_;
}

}  // namespace musubi::image
