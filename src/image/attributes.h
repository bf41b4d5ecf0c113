// Attributes of the process that the program sets on one rank and expects everywhere: directory, umask,
// locale, environment. Each change is made here first; then the other ranks follow, before the call returns.
#pragma once

#include <string_view>

#include "runtime/runtime.h"

namespace musubi::image {

class Attributes final : private runtime::Procedure {
 public:
  enum class Change : std::uint32_t {
    directory,     // text: path from the root
    mask,          // number: of new files
    locale,        // number: category; text: name
    set_variable,  // text: name=value
    unset_variable,
    clear_variables,
    fork_handlers,  // text: three functions and the object they belong to
    limit,          // number: resource; text: rlimit
    process_ids,    // asks: of the process and its parent
  };
  struct ProcessIds {
    pid_t process;
    pid_t parent;
  };

  // Collective, before the program runs.
  void start(runtime::Runtime& runtime);

  // Makes the same change at the other ranks. A text that is too long for a message changes this rank only.
  void spread(Change change, int number, std::string_view text) noexcept;
  // Rank 0's, which stand for those of all ranks.
  ProcessIds process_ids() noexcept;

 private:
  runtime::Answer run(Rank caller, std::span<const std::byte> request,
                      std::span<std::byte> reply) noexcept override;

  runtime::Runtime* runtime_ = nullptr;
  std::atomic<std::uint64_t> ids_{0};  // of rank 0, both; 0: not asked for yet
};

}  // namespace musubi::image
