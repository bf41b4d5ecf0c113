#include "vm/signal/crash_report.h"

#include <dlfcn.h>
#include <elf.h>
#include <execinfo.h>
#include <link.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "os/signal_frame.h"
#include "os/symbol_table.h"
#include "os/system_call.h"

namespace musubi::vm {
namespace {

constexpr std::size_t frames_shown = 32;
// The handlers' own frames are on top of the program's.
constexpr std::size_t frames_read = frames_shown + 32;

struct SignalText {
  int signal;
  const char* name;
  const char* meaning;
};
constexpr SignalText signal_texts[] = {
    {SIGSEGV, "SIGSEGV", "segmentation fault"},
    {SIGBUS, "SIGBUS", "bus error"},
    {SIGFPE, "SIGFPE", "arithmetic error"},
    {SIGILL, "SIGILL", "illegal instruction"},
    {SIGABRT, "SIGABRT", "abort"},
    {SIGTRAP, "SIGTRAP", "breakpoint or trap"},
};

const char* arithmetic_error(int code) {
  switch (code) {
    case FPE_INTDIV:
      return "integer division by zero";
    case FPE_INTOVF:
      return "integer overflow";
    case FPE_FLTDIV:
      return "floating-point division by zero";
    case FPE_FLTOVF:
      return "floating-point overflow";
    case FPE_FLTUND:
      return "floating-point underflow";
    case FPE_FLTRES:
      return "inexact floating-point result";
    case FPE_FLTINV:
      return "invalid floating-point operation";
    default:
      return "arithmetic error";
  }
}

const char* access_text(os::FaultAccess access) {
  switch (access) {
    case os::FaultAccess::read:
      return "read of address ";
    case os::FaultAccess::write:
      return "write of address ";
    case os::FaultAccess::execute:
      return "execution of address ";
  }
  __builtin_unreachable();
}

void append_signal(CrashText& text, int signal) {
  for (const SignalText& known : signal_texts) {
    if (known.signal == signal) {
      text << known.name << " (" << known.meaning << ")";
      return;
    }
  }
  (text << "signal ").decimal(static_cast<std::uint64_t>(signal));
}

void append_address(CrashText& text, const CrashReport::Crash& crash, const os::FaultContext& context) {
  constexpr std::uintptr_t null_bytes = 64 * 1024;  // by default no program can map these (vm.mmap_min_addr)
  constexpr std::uintptr_t near_bytes = 64 * 1024;  // distance from the stack pointer: within one frame
  const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(crash.information.si_addr);
  if (crash.information.si_code == SI_KERNEL) {
    text << "access to an address that no pointer can hold (not canonical, or misaligned)";
    return;
  }
  (text << access_text(context.access)).hexadecimal(address);
  if (crash.overflown != nullptr) {
    const std::uintptr_t end = crash.overflown->low + crash.overflown->guard_bytes;
    (text << ": the stack overflowed; it ends at ").hexadecimal(end) << " and has ";
    text.decimal((crash.overflown->high - end) / 1024)
        << " KiB; set a larger one by --set stack_bytes=..., or `ulimit -s` before `musubi run`";
  } else if (address < null_bytes) {
    text << ": a null pointer";
  } else if (crash.remark != nullptr) {
    text << ": " << crash.remark;
  } else if (address + near_bytes - context.stack_pointer < 2 * near_bytes) {
    text << ": next to the stack pointer, so the stack has probably overflowed";
  }
}

void append_cause(CrashText& text, const CrashReport::Crash& crash, const os::FaultContext& context) {
  if (crash.information.si_code <= 0) {
    if (crash.signal == SIGABRT && crash.information.si_pid == os::system_call(SYS_getpid)) {
      text << "abort() was called";
    } else {
      (text << "sent by process ").decimal(static_cast<std::uint64_t>(crash.information.si_pid));
    }
  } else if (crash.signal == SIGSEGV || crash.signal == SIGBUS) {
    append_address(text, crash, context);
  } else if (crash.signal == SIGFPE) {
    text << arithmetic_error(crash.information.si_code);
  } else {
    append_signal(text, crash.signal);
  }
  (text << " at pc ").hexadecimal(context.program_counter) << " in ";
  append_code_location(text, context.program_counter);
}

void append_frame(CrashText& text, std::size_t number, std::uintptr_t address, std::uintptr_t lookup) {
  (text << "  #").decimal(number) << " ";
  text.hexadecimal(address) << " in ";
  append_code_location(text, lookup);
  text << "\n";
}

// Whether the address is inside the runtime's own code, if the runtime is a shared library.
bool is_of_runtime(std::uintptr_t address) {
  Dl_info here, there;
  if (::dladdr(reinterpret_cast<void*>(&is_of_runtime), &here) == 0) return false;
  if (::dladdr(reinterpret_cast<void*>(address), &there) == 0 || here.dli_fbase != there.dli_fbase)
    return false;
  return ::strstr(here.dli_fname, "libmusubi") != nullptr;
}

struct Function {
  const char* name = nullptr;
  std::uintptr_t offset = 0;  // of the address in the function
};

// The loaded object that covers the address; null: none.
const link_map* object_at(std::uintptr_t address, Dl_info& information) noexcept {
  link_map* object = nullptr;
  const int found = ::dladdr1(reinterpret_cast<void*>(address), &information,
                              reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP);
  return found == 0 ? nullptr : object;
}

// The function (or variable, by `type`) of the table that covers `address`, relative to the file. dladdr
// knows only exported names: hardly any of a plain executable.
Function find_symbol(const os::SymbolTable& table, std::uintptr_t address, unsigned type) noexcept {
  for (const ElfW(Sym) & symbol : table.symbols()) {
    if (ELF64_ST_TYPE(symbol.st_info) != type || address - symbol.st_value >= symbol.st_size) continue;
    if (const char* const name = table.name(symbol)) return {name, address - symbol.st_value};
  }
  return {};
}

}  // namespace

// The interrupted instruction, then return addresses. Result: their number.
std::size_t CrashReport::find_frames(const Crash& crash, const os::FaultContext& context,
                                     std::span<std::uintptr_t> frames) const noexcept {
  std::array<void*, frames_read> found;
  const int got = ::backtrace(found.data(), static_cast<int>(found.size()));
  const auto end = found.begin() + got;
  const auto interrupted = std::find(found.begin(), end, reinterpret_cast<void*>(context.program_counter));
  std::size_t count = 0;
  const bool shows_runtime = runtime_frames_ || crash.in_runtime;
  const auto add = [&](std::uintptr_t address) {
    if (count == frames.size() || (!shows_runtime && is_of_runtime(address))) return;
    frames[count++] = address;
  };
  add(context.program_counter);
  if (interrupted == end) {
    // A call through a bad pointer: the unwinder cannot continue there, but the return address was just
    // pushed.
    const std::uintptr_t caller = *reinterpret_cast<const std::uintptr_t*>(context.stack_pointer);
    if (!is_code(context.program_counter) && is_code(caller)) add(caller);
    return count;
  }
  for (auto frame = interrupted + 1; frame != end; ++frame) add(reinterpret_cast<std::uintptr_t>(*frame));
  return count;
}

void CrashReport::prepare() const noexcept {
  std::array<void*, 4> frames;
  ::backtrace(frames.data(), static_cast<int>(frames.size()));
}

void CrashReport::write_cause(CrashText& text, const Crash& crash,
                              const os::FaultContext& context) const noexcept {
  (text << "musubi: rank ").decimal(rank_.value);
  text << (crash.in_runtime ? ": the runtime itself failed (a bug of Musubi): killed by "
                            : ": the program was killed by ");
  append_signal(text, crash.signal);
  text << ": ";
  append_cause(text, crash, context);
}

void CrashReport::write(const Crash& crash) const noexcept {
  const os::FaultContext context = os::fault_context(crash.context);
  CrashText text;
  write_cause(text, crash, context);
  // First, because walking a broken stack may end the report.
  if (listener_ != nullptr) {
    listener_->tell_crash(text.gathered());
  } else {
    text << "\n";
    text.flush();
  }
  std::array<std::uintptr_t, frames_shown> frames;
  const std::size_t count = find_frames(crash, context, frames);
  if (listener_ != nullptr) {
    if (listener_->tell_frames({frames.data(), count})) return;
    text << "\n";
    text.flush();
  }
  for (std::size_t i = 0; i < count; ++i)
    append_frame(text, i, frames[i], i == 0 ? frames[i] : frames[i] - 1);
  if (count == frames_shown) text << "  ... and more\n";
  text.flush();
}

bool is_code(std::uintptr_t address) noexcept {
  Dl_info information;
  return ::dladdr(reinterpret_cast<void*>(address), &information) != 0;
}

bool is_compiled_function(std::uintptr_t address) noexcept {
  Dl_info information;
  const link_map* const object = object_at(address, information);
  if (object == nullptr) return false;
  const os::SymbolTable file(os::file_of_object(object->l_name));
  return file.symbols().empty() || find_symbol(file, address - object->l_addr, STT_FUNC).name != nullptr;
}

void append_code_location(CrashText& text, std::uintptr_t address) noexcept {
  Dl_info information;
  const link_map* const object = object_at(address, information);
  if (object == nullptr) {
    text << "no code";
    return;
  }
  const std::uintptr_t in_file = address - object->l_addr;
  const os::SymbolTable file(os::file_of_object(object->l_name));
  Function function = find_symbol(file, in_file, STT_FUNC);
  if (function.name == nullptr && information.dli_sname != nullptr) {
    function = {information.dli_sname, address - reinterpret_cast<std::uintptr_t>(information.dli_saddr)};
  }
  if (function.name != nullptr) {
    (text << function.name << "+").hexadecimal(function.offset) << " (" << information.dli_fname << ")";
  } else {
    (text << information.dli_fname << "+").hexadecimal(in_file);
  }
}

void append_variable(CrashText& text, std::uintptr_t address) noexcept {
  Dl_info information;
  const link_map* const object = object_at(address, information);
  if (object == nullptr) {
    text << "no variable";
    return;
  }
  const os::SymbolTable file(os::file_of_object(object->l_name));
  const std::uintptr_t in_file = address - object->l_addr;
  const Function variable = find_symbol(file, in_file, STT_OBJECT);
  (text << (variable.name != nullptr ? variable.name : information.dli_fname) << "+")
      .hexadecimal(variable.name != nullptr ? variable.offset : in_file);
}

}  // namespace musubi::vm
