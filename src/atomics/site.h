// Finding the atomics of finished machine code.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

struct dl_phdr_info;

namespace musubi::atomics {

enum class SiteKind : std::uint8_t { read_modify_write, fence };

struct Site {
  std::uintptr_t address = 0;  // of the instruction
  std::uint8_t bytes = 0;      // its length
  SiteKind kind = SiteKind::read_modify_write;
  // Threads may meet by it: what it finds is used for more than to compute what it stores. A sum is no such
  // site.
  bool orders = false;
  // Other code jumps behind its first byte (over the lock prefix, when it knows that it is alone), so that
  // only this byte may be replaced.
  bool entered_inside = false;
  // The instruction, and what lies behind it as far as that was looked at.
  static constexpr std::size_t code_bytes_max = 15 + 4;
  std::array<std::uint8_t, code_bytes_max> code{};
  std::uint8_t code_bytes = 0;
};

struct CodeRange {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
};

struct Scan {
  std::vector<Site> sites;            // by ascending address
  std::vector<CodeRange> padding;     // what aligns loops and functions: no-operations, by ascending address
  std::size_t instructions = 0;       // walked over
  std::size_t unsupported = 0;        // atomic, but of a form that stays as it is
  std::size_t undecodable_bytes = 0;  // data between code
  std::size_t doubtful = 0;   // look like sites, but lie near such data, and nothing is known to lead there
  std::size_t undecided = 0;  // of those, where nothing is known of functions at all: they may be code
};

// Where functions begin and end; without bytes where the end is not known.
using FunctionsOf = std::function<std::vector<CodeRange>()>;

// Looks at `bytes` bytes at `code` as machine code that runs at `address`. Any bytes will do. `functions` is
// asked where data lie near what looks like sites: then those are sites that functions and branches lead to.
Scan find_sites(const void* code, std::size_t bytes, std::uintptr_t address,
                const FunctionsOf& functions = {});
// The same for code of this process, where it lies. REQUIRES: readable.
Scan find_sites(std::vector<CodeRange> ranges, const FunctionsOf& functions = {});

// The code of a loaded object: its executable sections without the linker's own (.plt...), by the section
// headers of the file at `path`; its executable segments if the file has none. Fails when the file cannot be
// read.
Result<std::vector<CodeRange>> code_of_object(const dl_phdr_info& object, const std::string& path);
// Looks at the file of a program or library that is not loaded, at the addresses where Linux would put a
// program without randomisation. Errors: cannot be read, or holds no code that section headers name.
Result<Scan> find_sites_of_file(const std::string& path);
// The code of the main program, which the dynamic linker lists first.
Result<std::vector<CodeRange>> code_of_program();

}  // namespace musubi::atomics
