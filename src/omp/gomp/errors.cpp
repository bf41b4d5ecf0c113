// #pragma omp error at(execution)
#include <unistd.h>

#include <string>

#include "omp/entry.h"
#include "omp/job.h"

namespace {

namespace events = musubi::omp::events;

std::string_view text_of(const char* text, std::size_t bytes) {
  if (text == nullptr) return "";
  return bytes == static_cast<std::size_t>(-1) ? std::string_view(text) : std::string_view(text, bytes);
}

}  // namespace

extern "C" {

MUSUBI_EXPORT void GOMP_warning(const char* text, std::size_t bytes) {
  MUSUBI_OMP_CALL();
  events::error(false, text_of(text, bytes));
  const std::string line = "musubi: error directive encountered: " + std::string(text_of(text, bytes)) + "\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

MUSUBI_EXPORT void GOMP_error(const char* text, std::size_t bytes) {
  MUSUBI_OMP_CALL();
  events::error(true, text_of(text, bytes));
  const std::string line = "fatal error: error directive encountered: " + std::string(text_of(text, bytes));
  musubi::omp::end_job(musubi::omp::Job::require("#pragma omp error").runtime, line);
}

}  // extern "C"
