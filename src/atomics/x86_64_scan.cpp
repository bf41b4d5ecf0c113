#include "atomics/site.h"
#include "atomics/x86_64_sweep.h"

namespace musubi::atomics {
namespace {

// glibc and others jump from "je" (74 01) or its relatives over the one byte of the prefix.
bool is_entered_inside(const std::uint8_t* code, std::size_t at) {
  if (at < 2 || code[at] != 0xf0 || code[at - 1] != 0x01) return false;
  const std::uint8_t opcode = code[at - 2];
  return opcode == 0xeb || (opcode & 0xf0) == 0x70;
}

}  // namespace

Scan find_sites(const void* code, std::size_t bytes, std::uintptr_t address) {
  Scan scan;
  const auto* begin = static_cast<const std::uint8_t*>(code);
  auto found = [&](std::size_t at, const x86_64::Instruction& instruction) {
    Site site;
    site.address = address + at;
    site.bytes = instruction.length;
    site.kind = instruction.is_fence() ? SiteKind::fence : SiteKind::read_modify_write;
    site.entered_inside = is_entered_inside(begin, at);
    scan.sites.push_back(site);
  };
  const x86_64::Sweep sweep = x86_64::sweep(code, bytes, found);
  scan.instructions = sweep.instructions;
  scan.unsupported = sweep.unsupported;
  scan.undecodable_bytes = sweep.undecodable_bytes;
  return scan;
}

}  // namespace musubi::atomics
