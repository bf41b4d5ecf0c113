// Attributes of the process that the program sets on one rank and expects everywhere: directory, umask,
// locale, environment, handlers. Each change is made on this rank first, then on all other ranks, before the
// call returns.
#pragma once

#include <array>
#include <atomic>
#include <string>
#include <string_view>

#include "image/libraries/library_variables.h"
#include "image/objects/locales.h"
#include "image/objects/stream_formats.h"
#include "image/process/owner_calls.h"
#include "runtime/api/runtime.h"

namespace musubi::image {

class Attributes {
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
    formats,        // text: see StreamFormats
    variables,      // text: see LibraryVariables
  };
  // A call of a function, by its name, with integer arguments.
  struct Call {
    const char* name;  // means nothing to other ranks
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
  // At another rank.
  std::int64_t apply(Change change, int number, std::string_view given);
  std::int64_t make_call(const Call& call, std::string_view name);
  void own_ids(ProcessIds& ids) noexcept;

  void change_environment(Change change, const std::string& text);

  void tell_environment() noexcept;

  runtime::Runtime* runtime_ = nullptr;
  Locales* locales_ = nullptr;
  StreamFormats formats_;
  LibraryVariables variables_;
  std::atomic<ProcessIds> ids_{};  // of rank 0; zeros: not yet asked for
  OwnerCalls<&Attributes::apply, &Attributes::make_call, &Attributes::own_ids> calls_;
};

}  // namespace musubi::image
