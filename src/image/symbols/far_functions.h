// The functions of system_calls.def as calls that other hosts may request (image/objects/far_calls.h).
#pragma once

#include <cerrno>
#include <concepts>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "image/objects/far_calls.h"
#include "image/symbols/kernel_access.h"

namespace musubi::image {

// One entry for each function, in the order of system_calls.def, followed by the functions with wrappers of
// their own.
std::span<const FarFunction> far_functions() noexcept;

// The number of a function with a wrapper of its own.
enum class OwnWrapper { fcntl, ioctl, getdents64 };
std::uint16_t far_number(OwnWrapper function) noexcept;

// Converts an argument to the word that a message carries, and back.
template <class Value>
constexpr bool travels = std::is_integral_v<Value> || std::is_pointer_v<Value>;
template <class Value>
std::uint64_t to_word(Value value) noexcept {
  if constexpr (std::is_pointer_v<Value>) {
    return reinterpret_cast<std::uint64_t>(value);
  } else if constexpr (std::is_integral_v<Value>) {
    return static_cast<std::uint64_t>(value);
  } else {
    return 0;  // its function has no entry in the table
  }
}
template <class Value>
Value from_word(std::uint64_t word) noexcept {
  if constexpr (std::is_pointer_v<Value>) {
    return reinterpret_cast<Value>(word);
  } else {
    return static_cast<Value>(word);
  }
}

// Calls a function with words. Functions that return pointers cannot travel.
template <class Type>
struct Travelling;
template <class Result, class... Parameters>
struct Travelling<Result(Parameters...)> {
  static constexpr bool possible = std::integral<Result> && sizeof...(Parameters) <= FarCall::arguments_max &&
                                   (travels<Parameters> && ...);

  static std::int64_t call(Result (*function)(Parameters...), const std::uint64_t* words) noexcept {
    return [&]<std::size_t... i>(std::index_sequence<i...>) {
      return static_cast<std::int64_t>(function(from_word<Parameters>(words[i])...));
    }(std::index_sequence_for<Parameters...>());
  }
};

// Runs a call whose files, found by `access`, are at a rank of another host. `name_accesses` notes its
// memory.
template <class NameAccesses>
std::int64_t call_far(Job& job, KernelAccess& access, FarCall call, NameAccesses name_accesses) noexcept {
  if (access.has_files_of_hosts()) {
    errno = EXDEV;
    return -1;
  }
  const Rank rank = *access.far();
  access.note_in(call);
  name_accesses(access);
  return job.far_calls.run(rank, call, access.is_regular());
}

}  // namespace musubi::image
