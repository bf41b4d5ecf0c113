#include "trace_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "trace/chrome_trace.h"

namespace musubi::tools {
namespace {

Error cannot_write(const std::string& path, int error) {
  return Error{"cannot write the trace to " + path + ": " + std::strerror(error) +
               "; name a file in a folder that exists and that you may write to"};
}

void tell_what_is_lost(std::span<const trace::EventLog> logs) {
  std::uint64_t lost = 0;
  for (const trace::EventLog& log : logs) lost += log.lost();
  if (lost == 0) return;
  std::fprintf(
      stderr,
      "musubi: the trace lacks %lu events, the oldest of threads with more than fit: set trace_events "
      "higher, or trace a shorter run\n",
      static_cast<unsigned long>(lost));
}

}  // namespace

Result<void> check_trace_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) return cannot_write(path, EISDIR);
    if (::access(path.c_str(), W_OK) != 0) return cannot_write(path, errno);
    return {};
  }
  if (errno != ENOENT) return cannot_write(path, errno);
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (::access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) != 0) return cannot_write(path, errno);
  return {};
}

void write_trace_file(const std::string& path, std::span<const trace::EventLog> logs, std::uint64_t zero_ns) {
  errno = 0;
  std::FILE* const file = std::fopen(path.c_str(), "we");
  if (file != nullptr) {
    trace::write_chrome_trace(file, logs, zero_ns);
    const bool complete = std::ferror(file) == 0;
    if (std::fclose(file) == 0 && complete) return tell_what_is_lost(logs);
  }
  std::fprintf(stderr, "musubi: %s\n", cannot_write(path, errno).message.c_str());
}

}  // namespace musubi::tools
