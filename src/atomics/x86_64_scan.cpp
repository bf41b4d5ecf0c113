#include <algorithm>
#include <span>

#include "atomics/site.h"
#include "atomics/x86_64_instruction.h"
#include "atomics/x86_64_order.h"
#include "atomics/x86_64_reach.h"

namespace musubi::atomics {
namespace {

// Tables between functions decode as instructions for a while before they stop decoding.
constexpr std::size_t doubtful_distance = 256;
constexpr std::size_t alignment = 16;
constexpr std::size_t following_bytes = 4;  // the bytes after a site that a jump can share

// glibc and other libraries jump from "je" (74 01) or its relatives over the one byte of the prefix.
bool is_entered_inside(const std::uint8_t* code, std::size_t at) {
  if (at < 2 || code[at] != 0xf0 || code[at - 1] != 0x01) return false;
  const std::uint8_t opcode = code[at - 2];
  return opcode == 0xeb || (opcode & 0xf0) == 0x70;
}

// Appends a no-operation to the preceding ones. A new padding begins at an aligned address, where control may
// enter: a function may start with room for a tracer.
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

class Code {
 public:
  Code(const void* bytes, std::size_t count, std::uintptr_t address)
      : bytes_(static_cast<const std::uint8_t*>(bytes), count), address_(address) {}

  Site site(std::size_t at, const x86_64::Instruction& instruction, const x86_64::Recent& before) const {
    Site site;
    site.address = address_ + at;
    site.bytes = instruction.length;
    site.kind = instruction.is_fence() ? SiteKind::fence : SiteKind::read_modify_write;
    if (x86_64::orders(bytes_.data(), bytes_.size(), at, instruction, before))
      site.order = AtomicOrder::meeting;
    site.entered_inside = is_entered_inside(bytes_.data(), at);
    site.code_bytes =
        static_cast<std::uint8_t>(std::min(bytes_.size() - at, instruction.length + following_bytes));
    std::copy_n(bytes_.data() + at, site.code_bytes, site.code.begin());
    return site;
  }

  // The sites near data that are code, because functions, or branches from elsewhere, lead to them.
  std::vector<Site> reached(const Doubt& doubt, const std::vector<CodeRange>& functions) const {
    x86_64::Reach reach(bytes_);
    for (const CodeRange& function : functions) {
      const std::size_t begin = function.begin - address_;
      if (begin < bytes_.size()) reach.enter_function(begin, begin + function.bytes);
    }
    x86_64::for_each_branch(bytes_, [&](std::size_t at, std::size_t target) {
      if (!doubt.covers(address_ + at) && doubt.covers(address_ + target)) reach.enter(target);
    });
    std::vector<Site> sites;
    reach.walk([&](std::size_t at, const x86_64::Instruction& instruction, const x86_64::Recent& before) {
      if (doubt.covers(address_ + at)) sites.push_back(site(at, instruction, before));
    });
    std::ranges::sort(sites, {}, &Site::address);
    return sites;
  }

 private:
  const std::span<const std::uint8_t> bytes_;
  const std::uintptr_t address_;
};

// Keeps sites near data if they are reached, and adds reached sites that the linear walk missed.
void settle_doubt(Scan& scan, const Doubt& doubt, const Code& code, const FunctionsOf& functions) {
  std::vector<Site> doubtful, reached;
  std::erase_if(scan.sites, [&](const Site& site) {
    const bool is_doubtful = doubt.covers(site.address);
    if (is_doubtful) doubtful.push_back(site);
    return is_doubtful;
  });
  std::vector<CodeRange> known;
  if (!doubtful.empty()) {
    if (functions) known = functions();
    reached = code.reached(doubt, known);
  }
  std::erase_if(doubtful, [&](const Site& site) {
    return std::ranges::binary_search(reached, site.address, {}, &Site::address);
  });
  scan.doubtful = doubtful.size();
  scan.undecided = known.empty() ? doubtful.size() : 0;
  const auto middle = scan.sites.insert(scan.sites.end(), reached.begin(), reached.end());
  std::ranges::inplace_merge(scan.sites, middle, {}, &Site::address);
}

}  // namespace

Scan find_sites(const void* code, std::size_t bytes, std::uintptr_t address, const FunctionsOf& functions) {
  Scan scan;
  Doubt doubt;
  const Code all(code, bytes, address);
  x86_64::SweepEvents events;
  events.atomic = [&](std::size_t at, const x86_64::Instruction& instruction, const x86_64::Recent& before) {
    scan.sites.push_back(all.site(at, instruction, before));
  };
  events.padding = [&](std::size_t at, std::size_t length) {
    add_padding(scan.padding, address + at, length);
  };
  events.undecodable = [&](std::size_t at) { doubt.add(address + at); };
  const x86_64::Sweep sweep = x86_64::sweep(code, bytes, events);
  scan.instructions = sweep.instructions;
  scan.unsupported = sweep.unsupported;
  scan.undecodable_bytes = doubt.count();
  settle_doubt(scan, doubt, all, functions);
  std::erase_if(scan.padding, [&](const CodeRange& range) { return doubt.covers(range.begin); });
  return scan;
}

}  // namespace musubi::atomics
