// A line of text built inside a signal handler: no malloc, no stdio.
#pragma once

#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace musubi::vm {

class CrashText {
 public:
  CrashText& operator<<(const char* text) noexcept {
    while (*text != '\0') put(*text++);
    return *this;
  }
  CrashText& decimal(std::uint64_t value) noexcept { return number(value, 10); }
  CrashText& hexadecimal(std::uint64_t value) noexcept {
    *this << "0x";
    return number(value, 16);
  }
  std::string_view gathered() const noexcept { return {text_.data(), used_}; }
  // Writes the gathered text to standard error in one call, and clears it.
  void flush() noexcept {
    for (std::size_t done = 0; done < used_;) {
      const ssize_t written = ::write(STDERR_FILENO, text_.data() + done, used_ - done);
      if (written <= 0) break;
      done += static_cast<std::size_t>(written);
    }
    used_ = 0;
  }

 private:
  // Truncates text that is too long.
  void put(char letter) noexcept {
    if (used_ < text_.size()) text_[used_++] = letter;
  }
  CrashText& number(std::uint64_t value, unsigned base) noexcept {
    char digits[24];
    int count = 0;
    do {
      digits[count++] = "0123456789abcdef"[value % base];
      value /= base;
    } while (value != 0);
    while (count > 0) put(digits[--count]);
    return *this;
  }

  std::size_t used_ = 0;
  std::array<char, 8192> text_;
};

}  // namespace musubi::vm
