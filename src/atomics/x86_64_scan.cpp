#include <algorithm>

#include "atomics/site.h"
#include "atomics/x86_64_order.h"
#include "atomics/x86_64_sweep.h"

namespace musubi::atomics {
namespace {

// Tables between functions decode as instructions for a while before they do not.
constexpr std::size_t doubtful_distance = 256;
constexpr std::size_t alignment = 16;
constexpr std::size_t following_bytes = 4;  // what a jump can share with the code behind a site

// glibc and others jump from "je" (74 01) or its relatives over the one byte of the prefix.
bool is_entered_inside(const std::uint8_t* code, std::size_t at) {
  if (at < 2 || code[at] != 0xf0 || code[at - 1] != 0x01) return false;
  const std::uint8_t opcode = code[at - 2];
  return opcode == 0xeb || (opcode & 0xf0) == 0x70;
}

// Adds a no-operation to what came before it. What lies behind an aligned address may be entered there: a
// function that starts with room for a tracer.
void add_padding(std::vector<CodeRange>& padding, std::uintptr_t address, std::size_t bytes) {
  const bool continues =
      !padding.empty() && padding.back().begin + padding.back().bytes == address && address % alignment != 0;
  if (!continues) padding.push_back({address, 0});
  CodeRange& last = padding.back();
  const std::uintptr_t limit = (last.begin / alignment + 1) * alignment;
  if (address + bytes <= limit) {
    last.bytes += bytes;
  } else if (!continues) {
    padding.pop_back();
  }
}

class Doubt {
 public:
  // Ascending.
  void add(std::uintptr_t address) { addresses_.push_back(address); }
  std::size_t count() const { return addresses_.size(); }
  bool covers(std::uintptr_t address) const {
    const std::uintptr_t from = address < doubtful_distance ? 0 : address - doubtful_distance;
    const auto next = std::lower_bound(addresses_.begin(), addresses_.end(), from);
    return next != addresses_.end() && *next <= address + doubtful_distance;
  }

 private:
  std::vector<std::uintptr_t> addresses_;
};

}  // namespace

Scan find_sites(const void* code, std::size_t bytes, std::uintptr_t address) {
  Scan scan;
  Doubt doubt;
  const auto* begin = static_cast<const std::uint8_t*>(code);
  x86_64::SweepEvents events;
  events.atomic = [&](std::size_t at, const x86_64::Instruction& instruction, const x86_64::Recent& before) {
    Site site;
    site.address = address + at;
    site.bytes = instruction.length;
    site.kind = instruction.is_fence() ? SiteKind::fence : SiteKind::read_modify_write;
    site.orders = x86_64::orders(begin, bytes, at, instruction, before);
    site.entered_inside = is_entered_inside(begin, at);
    site.code_bytes = static_cast<std::uint8_t>(std::min(bytes - at, instruction.length + following_bytes));
    std::copy_n(begin + at, site.code_bytes, site.code.begin());
    scan.sites.push_back(site);
  };
  events.padding = [&](std::size_t at, std::size_t length) {
    add_padding(scan.padding, address + at, length);
  };
  events.undecodable = [&](std::size_t at) { doubt.add(address + at); };
  const x86_64::Sweep sweep = x86_64::sweep(code, bytes, events);
  scan.instructions = sweep.instructions;
  scan.unsupported = sweep.unsupported;
  scan.undecodable_bytes = doubt.count();
  scan.doubtful = std::erase_if(scan.sites, [&](const Site& site) { return doubt.covers(site.address); });
  std::erase_if(scan.padding, [&](const CodeRange& range) { return doubt.covers(range.begin); });
  return scan;
}

}  // namespace musubi::atomics
