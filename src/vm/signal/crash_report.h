// The report to the user of a program that dies by a signal.
#pragma once

#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/ids.h"
#include "os/signal_frame.h"
#include "vm/signal/stack_registry.h"

namespace musubi::vm {

// A line of text built inside a signal handler: no malloc, no stdio.
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

// Appends "function+0x12 (object)", or "object+0x1234" if no symbol covers the address (as addr2line takes
// it), or "no code". Reads the symbol table from the object's file. No malloc; takes the dynamic linker's
// lock.
void append_code_location(CrashText& text, std::uintptr_t address) noexcept;

// Appends "variable+0x12", or "object+0x1234" if no symbol covers the address. As above.
void append_variable(CrashText& text, std::uintptr_t address) noexcept;

// Whether a function with a size covers the address, or its object has no symbols: a stub of the linker has
// none, and start files of the C library have functions without a size. No malloc.
bool is_compiled_function(std::uintptr_t address) noexcept;

// Whether a loaded object covers the address.
bool is_code(std::uintptr_t address) noexcept;

// A listener that can tell the user more than the dying process: see bootstrap/bootstrap.h. Signal-safe.
class CrashListener {
 public:
  virtual void tell_crash(std::string_view cause) noexcept = 0;
  // False: it wrote nothing.
  virtual bool tell_frames(std::span<const std::uintptr_t> frames) noexcept = 0;

 protected:
  ~CrashListener() = default;
};

class CrashReport {
 public:
  struct Crash {
    int signal;
    const siginfo_t& information;
    const ucontext_t& context;
    const StackRegistry::Stack* overflown;  // the stack whose guard was touched, or null
    const char* remark;                     // more about the address, or null
    bool in_runtime;                        // the signal interrupted the runtime's handler, not the program
  };

  explicit CrashReport(Rank rank) noexcept : rank_(rank) {}

  // Loads the parts that a backtrace needs, which would call malloc later. At start.
  void prepare() const noexcept;
  // `listener` outlives this. `runtime_frames`: backtraces show the runtime's own functions, too.
  void set_listener(CrashListener* listener, bool runtime_frames) noexcept {
    listener_ = listener;
    runtime_frames_ = runtime_frames;
  }
  // Writes one line on the cause, then the backtrace of the interrupted code, to the listener or else to
  // standard error. Inside a signal handler.
  void write(const Crash& crash) const noexcept;

 private:
  void write_cause(CrashText& text, const Crash& crash, const os::FaultContext& context) const noexcept;
  std::size_t find_frames(const Crash& crash, const os::FaultContext& context,
                          std::span<std::uintptr_t> frames) const noexcept;

  Rank rank_;
  CrashListener* listener_ = nullptr;
  bool runtime_frames_ = false;
};

}  // namespace musubi::vm
