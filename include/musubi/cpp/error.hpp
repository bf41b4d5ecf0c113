// Part of musubi.hpp: errors.
//
//     try {
//       musubi::mutex(0).unlock();
//     } catch (const musubi::error& refused) {
//       std::fprintf(stderr, "%s (%d)\n", refused.what(), refused.code());
//     }
#pragma once

#include <musubi/job.h>

#include <stdexcept>

namespace musubi {

// A function of musubi.h has refused a call. what() gives the cause and the remedy.
class error : public std::runtime_error {
 public:
  explicit error(int code) : std::runtime_error(musubi_error_text(code)), code_(code) {}
  // MUSUBI_ERROR_...
  int code() const noexcept { return code_; }

 private:
  int code_;
};

// Throws error unless `result` is MUSUBI_OK.
inline void require(int result) {
  if (result != MUSUBI_OK) throw error(result);
}

}  // namespace musubi
