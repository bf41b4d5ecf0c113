// A file mapped for reading, of which no byte is trusted.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "os/memory.h"

namespace musubi::tools {

// Every access is checked against the file's length.
class MappedFile {
 public:
  MappedFile(void* begin, std::size_t bytes) : begin_(static_cast<const char*>(begin)), bytes_(bytes) {}
  ~MappedFile() {
    if (bytes_ != 0) ::munmap(const_cast<char*>(begin_), bytes_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  template <class T>
  std::optional<T> read(std::uint64_t offset) const {
    if (offset > bytes_ || bytes_ - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, begin_ + offset, sizeof value);
    return value;
  }
  // The text up to a zero byte.
  std::optional<std::string> text(std::uint64_t offset) const {
    if (offset >= bytes_) return std::nullopt;
    const std::size_t length = ::strnlen(begin_ + offset, bytes_ - offset);
    if (length == bytes_ - offset) return std::nullopt;
    return std::string(begin_ + offset, length);
  }
  // Empty if they are not all in the file.
  std::string_view bytes(std::uint64_t offset, std::uint64_t count) const {
    if (offset > bytes_ || bytes_ - offset < count) return {};
    return {begin_ + offset, count};
  }
  bool holds(std::string_view text) const {
    return bytes_ != 0 && ::memmem(begin_, bytes_, text.data(), text.size()) != nullptr;
  }
  bool starts_with(std::string_view prefix) const {
    return bytes_ >= prefix.size() && std::memcmp(begin_, prefix.data(), prefix.size()) == 0;
  }

 private:
  const char* begin_;
  std::size_t bytes_;
};

// Calls `use` with the file's bytes, or returns the reason why they cannot be read.
template <class Use>
auto with_file(const std::string& path, Use use) -> decltype(use(std::declval<const MappedFile&>())) {
  const os::FileDescriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (descriptor.number() < 0 || ::fstat(descriptor.number(), &status) != 0) {
    return Error{"cannot read " + path + ": " + std::strerror(errno)};
  }
  const auto bytes = static_cast<std::size_t>(status.st_size);
  if (bytes == 0) return use(MappedFile(nullptr, 0));
  void* begin = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, descriptor.number(), 0);
  if (begin == MAP_FAILED) return Error{"cannot read " + path + ": " + std::strerror(errno)};
  return use(MappedFile(begin, bytes));
}

}  // namespace musubi::tools
