// Attributes of the process that the program sets on one rank and expects everywhere: directory, umask,
// locale, environment, handlers. Each change is made on this rank first, then on all other ranks, before the
// call returns.
#pragma once

#include <array>
#include <string_view>

#include "image/libraries/library_variables.h"
#include "image/objects/locales.h"
#include "image/objects/stream_formats.h"
#include "runtime/api/runtime.h"

namespace musubi::image {

class Attributes final : private runtime::Procedure {
 public:
  enum class Change : std::uint32_t {
    directory,     // text: path from the root
    mask,          // number: umask of new files
    locale,        // number: category; text: name
    set_variable,  // text: name=value
    unset_variable,
    clear_variables,
    fork_handlers,  // text: three functions and the object they belong to
    limit,          // number: resource; text: rlimit
    process_ids,    // asks for the ids of the process and its parent
    call,           // text: Call
    formats,        // text: see StreamFormats
    variables,      // text: see LibraryVariables
  };
  // A call of a function, by its name, with integer arguments.
  struct Call {
    const char* name;
    std::array<std::uint64_t, 3> words;
    bool gives_double = false;
  };
  struct ProcessIds {
    pid_t process;
    pid_t parent;
  };

  // Collective, before the program runs.
  void start(runtime::Runtime& runtime, Locales& locales);
  // Rank 0: the program uses the present `environ` from now on.
  void note_environment() noexcept { variables_.note_environment(); }

  // Makes the same change on the other ranks. A text too long for a message changes this rank only.
  void spread(Change change, int number, std::string_view text) noexcept;
  // Makes the same call on each other rank.
  void spread(const Call& call) noexcept;
  // Makes the call on rank 0 only. Result: as the function's; a double as its bits.
  std::int64_t call_at_first_rank(const Call& call) noexcept;
  // Rank 0, main's thread, before a region: sends the changes that main made without a call
  // (stream_formats.h, library_variables.h).
  void send_main_changes() noexcept;
  // The ids of rank 0, which the program sees on all ranks.
  ProcessIds process_ids() noexcept;

 private:
  runtime::Answer run(Rank caller, std::span<const std::byte> request,
                      std::span<std::byte> reply) noexcept override;

  void tell_environment() noexcept;

  runtime::Runtime* runtime_ = nullptr;
  Locales* locales_ = nullptr;
  StreamFormats formats_;
  LibraryVariables variables_;
  std::atomic<std::uint64_t> ids_{0};  // both ids of rank 0; 0: not yet asked for
};

}  // namespace musubi::image
