// Attributes of the process that the program sets on one rank and expects everywhere: directory, umask,
// locale, environment, handlers. Each change is made here first; then the other ranks follow, before the call
// returns.
#pragma once

#include <array>
#include <string_view>

#include "image/library_variables.h"
#include "image/stream_formats.h"
#include "runtime/api/runtime.h"

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
    call,           // text: Call
    formats,        // text: of StreamFormats
    variables,      // text: of LibraryVariables
  };
  // Of a function with arguments that are words, by its name.
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
  void start(runtime::Runtime& runtime);
  // Rank 0: `environ` is that of the program from now on.
  void note_environment() noexcept { variables_.note_environment(); }

  // Makes the same change at the other ranks. A text that is too long for a message changes this rank only.
  void spread(Change change, int number, std::string_view text) noexcept;
  // Has each other rank make the same call.
  void spread(const Call& call) noexcept;
  // The same at rank 0 only. Result: as the function's, a double by its bits.
  std::int64_t call_at_first_rank(const Call& call) noexcept;
  // Rank 0, main's thread, before a region: what main has set without a call (stream_formats.h,
  // library_variables.h).
  void tell_what_main_set() noexcept;
  // Rank 0's, which stand for those of all ranks.
  ProcessIds process_ids() noexcept;

 private:
  runtime::Answer run(Rank caller, std::span<const std::byte> request,
                      std::span<std::byte> reply) noexcept override;

  void tell_environment() noexcept;

  runtime::Runtime* runtime_ = nullptr;
  StreamFormats formats_;
  LibraryVariables variables_;
  std::atomic<std::uint64_t> ids_{0};  // of rank 0, both; 0: not asked for yet
};

}  // namespace musubi::image
