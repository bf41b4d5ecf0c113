// Variables of the C library that main sets and that threads of other ranks read (library_variables.def), and
// the environment if main has assigned `environ` itself.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace musubi::image {

class LibraryVariables {
 public:
  // Before the program runs.
  void start() noexcept;

  // Rank 0, main's thread. Result: the values of all variables if one has changed since the last call;
  // otherwise empty. Valid until the next call.
  std::string_view changes() noexcept;
  // Another rank: sets the variables that have changed since the last call.
  void take(std::string_view values) noexcept;

  // Rank 0: the other ranks know the environment from now on.
  void note_environment() noexcept;
  // Rank 0, main's thread: whether `environ` has been assigned since.
  bool is_environment_new() const noexcept;

 private:
  static constexpr std::size_t variable_count = 0
#define MUSUBI_VARIABLE(type, name) +1
#include "image/libraries/library_variables.def"
#undef MUSUBI_VARIABLE
      ;
  struct Variable {
    void* place = nullptr;  // in the program's copy, if it has one; null: the library is not loaded
    std::size_t bytes = 0;
  };
  using Values = std::array<std::uint64_t, variable_count>;
  static_assert(variable_count <= 64);
  struct Message {
    std::uint64_t changed = 0;  // one bit for each variable changed since the program's start
    Values values{};
    bool operator==(const Message&) const = default;
  };

  Values values() const noexcept;

  std::array<Variable, variable_count> variables_{};
  Values first_{};
  Message sent_;
  char** known_environment_ = nullptr;
};

}  // namespace musubi::image
