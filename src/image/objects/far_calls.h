// System calls with a descriptor that a rank of another host has open: they run at that rank. The memory that
// such a call names travels with it (docs/decisions/process_objects.md).
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/api/runtime.h"

namespace musubi::image {

// One call, as its wrapper describes it: its arguments as words, and the memory that the pointers refer to.
class FarCall {
 public:
  static constexpr std::size_t arguments_max = 6, areas_max = 4;
  struct Area {
    std::uint64_t place;
    std::size_t bytes;
    bool is_result;
  };

  // `number`: of the function in set_functions(). `arguments`: at most arguments_max.
  FarCall(std::uint16_t number, std::span<const std::uint64_t> arguments) noexcept;

  // Memory that the call reads or writes. A list of parts replaces all other memory.
  void add(const void* memory, std::size_t bytes, bool is_result) noexcept;
  void add_parts(std::span<const iovec> parts, bool is_result) noexcept;

 private:
  friend class FarCalls;

  std::uint16_t number_;
  std::size_t argument_count_;
  std::array<std::uint64_t, arguments_max> arguments_{};
  std::array<Area, areas_max> areas_{};
  std::size_t area_count_ = 0;
  std::span<const iovec> parts_;
  bool parts_are_results_ = false;
  bool fits_ = true;  // all its memory could be noted
};

// A function that another host may call.
struct FarFunction {
  enum class Transfer : std::uint8_t {
    none,
    reading,  // (file, data, bytes ...) -> bytes: split where one message is too small
    writing,
  };
  // Sets errno. Null: this function always runs at the caller.
  std::int64_t (*run)(const std::uint64_t* arguments) noexcept = nullptr;
  Transfer transfer = Transfer::none;
  bool has_offset = false;  // the fourth argument is a position in the file
  // For a function with a list of parts: the number of its variant with one buffer.
  std::uint16_t with_one_piece = 0;
};

class FarCalls final : private runtime::Procedure {
 public:
  // Collective, before the program runs.
  void start(runtime::Runtime& runtime);
  // The same at every rank, before the program runs. REQUIRES: `functions` stays valid to the end.
  void set_functions(std::span<const FarFunction> functions) noexcept { functions_ = functions; }

  // Runs the call at `rank`, and stores its results. `is_regular`: its file is a regular one, so that further
  // reads do not block. Result: as the function's, with errno; -1 with EOPNOTSUPP, and a line on standard
  // error, for a call that cannot travel. Blocks as long as the call does there. Any thread of the program.
  std::int64_t run(Rank rank, const FarCall& call, bool is_regular) noexcept;

 private:
  struct Request;

  runtime::Answer run(Rank caller, std::span<const std::byte> request,
                      std::span<std::byte> reply) noexcept override;
  std::int64_t run_whole(Rank rank, const FarCall& call, bool is_regular) noexcept;
  std::int64_t run_parts(Rank rank, const FarCall& call, bool is_regular) noexcept;
  std::int64_t run_pieces(Rank rank, const FarCall& call, bool is_regular) noexcept;
  std::int64_t run_once(Rank rank, const FarCall& call) noexcept;

  runtime::Runtime* runtime_ = nullptr;
  std::span<const FarFunction> functions_;
};

}  // namespace musubi::image
