// What another launcher (mpirun, srun) offers to the processes that it has started: their number, and values
// under names, which one puts and all get.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace musubi::launch {

// Slurm loses longer ones, whatever it promises.
inline constexpr std::size_t value_bytes_max = 900;

// One thread. All calls block. Errors: the launcher is gone, or says what is not understood.
class KeyValues {
 public:
  virtual ~KeyValues() = default;

  // Which language it speaks, for messages.
  virtual const char* language() const = 0;
  virtual std::uint32_t rank() const = 0;
  virtual std::uint32_t ranks() const = 0;

  // The values of this rank, to be seen behind the next fence. `value`: at most value_bytes_max printable
  // characters without spaces.
  virtual Result<void> put(std::string_view key, std::string_view value) = 0;
  // Collective.
  virtual Result<void> fence() = 0;
  // What the rank has put before the last fence. Errors: besides, nothing.
  virtual Result<std::string> get(std::uint32_t rank, std::string_view key) = 0;
  // The last call: the launcher knows then that this process may end whenever it likes.
  virtual Result<void> leave() = 0;
};

}  // namespace musubi::launch
