// Finds the atomics and the spin loops of finished machine code.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/atomic_operation.h"
#include "base/result.h"

struct dl_phdr_info;

namespace musubi::atomics {

enum class SiteKind : std::uint8_t { read_modify_write, fence };

struct Site {
  std::uintptr_t address = 0;  // of the instruction
  std::uint8_t bytes = 0;      // its length
  SiteKind kind = SiteKind::read_modify_write;
  // meeting: the code uses the old value for more than to compute the new one.
  AtomicOrder order = AtomicOrder::unused;
  // Other code jumps to its second byte (over the lock prefix, if it knows that it is alone), so only the
  // first byte may be replaced.
  bool entered_inside = false;
  // The instruction, and the bytes after it that were examined.
  static constexpr std::size_t code_bytes_max = 15 + 4;
  std::array<std::uint8_t, code_bytes_max> code{};
  std::uint8_t code_bytes = 0;
};

struct CodeRange {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
};

struct ScanCounts {
  std::size_t instructions = 0;       // decoded
  std::size_t unsupported = 0;        // atomic, but of a form that stays unpatched
  std::size_t undecodable_bytes = 0;  // data between code
  std::size_t doubtful = 0;           // look like sites near such data, without a known path to them
  std::size_t undecided = 0;          // of these, without any knowledge of functions: they may be code
};
struct Scan : ScanCounts {
  std::vector<Site> sites;         // by ascending address
  std::vector<CodeRange> padding;  // no-operations that align loops and functions, by ascending address
};

// The functions of the code, with 0 bytes if the end is not known.
using FunctionsOf = std::function<std::vector<CodeRange>()>;

// Decodes `bytes` bytes at `code` as machine code that runs at `address`. Accepts any bytes. Asks `functions`
// if candidates are near data: then those that functions and branches lead to are sites.
Scan find_sites(const void* code, std::size_t bytes, std::uintptr_t address,
                const FunctionsOf& functions = {});
// The same for code of this process, at its own address. REQUIRES: readable.
Scan find_sites(std::vector<CodeRange> ranges, const FunctionsOf& functions = {});

// The code of a loaded object: its executable sections without the linker's own (.plt...), by the section
// headers of the file at `path`; its executable segments if the file has no section headers. Fails if the
// file cannot be read.
Result<std::vector<CodeRange>> code_of_object(const dl_phdr_info& object, const std::string& path);
// Scans the file of a program or library that is not loaded, at the addresses where Linux would load a
// program without randomisation. Errors: the file cannot be read, or its section headers name no code.
Result<Scan> find_sites_of_file(const std::string& path);
// The code of the main program, which the dynamic linker lists first.
Result<std::vector<CodeRange>> code_of_program();

// The functions of the file at `path` that is loaded at `base` (0: at its own addresses), with 0 bytes if
// only the first instruction is known. In no order, some twice. Empty if the file cannot be read.
std::vector<CodeRange> functions_of(const std::string& path, std::uintptr_t base);

// Sets the order of the sites that the compiler of the file at `path`, loaded at `base`, has marked as atomic
// operations whose source orders nothing (MUSUBI_CHECKS_RELAXED_SECTION). None if the file cannot be read.
void mark_relaxed(Scan& scan, const std::string& path, std::uintptr_t base);

// Whether the code has a loop that loads from memory, compares, and changes nothing that it loads from.
// Compilers make such a loop from a wait by `omp atomic read`, std::atomic's load or a volatile. Accepts any
// bytes, which run at `address`. Misses loops that call functions, except the small functions of unoptimised
// code. Asks `functions` if bytes look like such a loop: it counts only where decoding from the beginning of
// its function leads to it.
bool has_spin_loops(const void* code, std::size_t bytes, std::uintptr_t address,
                    const FunctionsOf& functions = {});
// The same for all code of a file that is not loaded. Errors: as find_sites_of_file.
Result<bool> file_has_spin_loops(const std::string& path);

// A program that imports one of these functions may wait for a word in a loop that calls it.
inline constexpr std::array<std::string_view, 6> functions_of_waits{
    "sched_yield", "usleep", "nanosleep", "clock_nanosleep", "thrd_yield", "thrd_sleep"};

}  // namespace musubi::atomics
