#include "atomics/patch.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>

#include "atomics/near_memory.h"
#include "atomics/x86_64_entry.h"
#include "atomics/x86_64_springboards.h"
#include "atomics/x86_64_stub.h"
#include "base/check.h"

namespace musubi::atomics {
namespace {

using x86_64::jump_bytes;
using x86_64::short_jump_bytes;

constexpr std::uintptr_t page = 4096;
constexpr std::uint8_t breakpoint = 0xcc;
// Jumps reach 2 GiB; less, because stubs refer to data beside the code as well.
constexpr std::size_t reach = (std::size_t{1} << 31) - (std::size_t{64} << 20);

std::uintptr_t page_of(std::uintptr_t address) {
  return address & ~(page - 1);
}
std::size_t rounded_up(std::size_t bytes) {
  return (bytes + page - 1) & ~(page - 1);
}

AddressRange extent_of(const std::vector<Site>& sites) {
  AddressRange extent{~std::uintptr_t{0}, 0};
  for (const Site& site : sites) {
    extent.begin = std::min(extent.begin, site.address);
    extent.end = std::max(extent.end, site.address + site.bytes);
  }
  return extent;
}

// New bytes for the program's code.
struct Change {
  std::uintptr_t address;
  std::size_t bytes = 0;
  std::array<std::uint8_t, x86_64::instruction_bytes_max> code{};
};

Change jump(std::uintptr_t from, std::uintptr_t to) {
  Change change{from, jump_bytes, {0xe9}};
  const auto distance = static_cast<std::int32_t>(to - (from + jump_bytes));
  std::memcpy(&change.code[1], &distance, sizeof distance);
  return change;
}

Change short_jump(std::uintptr_t from, std::uintptr_t to) {
  const auto distance = static_cast<std::uint8_t>(to - (from + short_jump_bytes));
  return Change{from, short_jump_bytes, {0xeb, distance}};
}

// Nobody executes what an instruction leaves behind its jump.
Change filled(Change change, std::size_t bytes) {
  std::fill(change.code.begin() + static_cast<std::ptrdiff_t>(change.bytes),
            change.code.begin() + static_cast<std::ptrdiff_t>(bytes), breakpoint);
  change.bytes = bytes;
  return change;
}

// All that is to be done for the sites of one object.
class Plan {
 public:
  explicit Plan(const Scan& scan) : springboards_(scan.padding) {}

  void add(const Site& site, std::uintptr_t stub) {
    if (!site.entered_inside && site.bytes >= jump_bytes) {
      changes_.push_back(filled(jump(site.address, stub), site.bytes));
      ++report.jumps;
      return;
    }
    if (!site.entered_inside && site.bytes >= short_jump_bytes) {
      if (const auto board = springboards_.take(site.address)) {
        changes_.push_back(filled(short_jump(site.address, *board), site.bytes));
        changes_.push_back(jump(*board, stub));
        ++report.springboards;
        return;
      }
    }
    changes_.push_back(Change{site.address, 1, {breakpoint}});
    traps_.push_back({site.address, stub});
    ++report.traps;
  }

  // To be called once, when all are added.
  void finish() {
    for (const auto& hop : springboards_.hops()) {
      changes_.push_back(Change{hop.address, short_jump_bytes, {0xeb, hop.distance}});
    }
    for (const Change& change : changes_) {
      pages_.push_back(page_of(change.address));
      pages_.push_back(page_of(change.address + change.bytes - 1));
    }
    std::sort(pages_.begin(), pages_.end());
    pages_.erase(std::unique(pages_.begin(), pages_.end()), pages_.end());
  }

  // Executable all the while: this very code may lie in one of the pages.
  bool open() {
    opened_ = protect(PROT_READ | PROT_WRITE | PROT_EXEC, pages_.size());
    return opened_ == pages_.size();
  }
  void apply() const {
    for (const Change& change : changes_) {
      std::memcpy(reinterpret_cast<void*>(change.address), change.code.data(), change.bytes);
    }
  }
  void close() const { MUSUBI_CHECK(protect(PROT_READ | PROT_EXEC, opened_) == opened_); }

  // The table has to live as long as the code does: for ever.
  bool publish_traps() {
    if (traps_.empty()) return true;
    std::sort(traps_.begin(), traps_.end(),
              [](const x86_64::TrapSite& a, const x86_64::TrapSite& b) { return a.address < b.address; });
    auto* table = new x86_64::TrapSite[traps_.size()];
    std::copy(traps_.begin(), traps_.end(), table);
    if (x86_64::add_traps(table, traps_.size())) return true;
    delete[] table;
    return false;
  }

  PatchReport report;

 private:
  // Result: how many pages, from the first on, have the protection now.
  std::size_t protect(int protection, std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i) {
      if (::mprotect(reinterpret_cast<void*>(pages_[i]), page, protection) != 0) return i;
    }
    return count;
  }

  x86_64::Springboards springboards_;
  std::vector<Change> changes_;
  std::vector<x86_64::TrapSite> traps_;
  std::vector<std::uintptr_t> pages_;  // ascending, each once
  std::size_t opened_ = 0;
};

void write_header(std::uint8_t* at) {
  auto* header = new (at) x86_64::StubHeader;
  header->entry = reinterpret_cast<std::uintptr_t>(&x86_64::musubi_atomics_entry);
  for (const AddressRange& range : x86_64::attached_ranges().filter()) {
    header->filter[header->filter_count++] = range;
  }
}

void write_stubs(std::uint8_t* memory, const std::vector<Site>& sites, Plan& plan) {
  write_header(memory);
  const auto& header = *reinterpret_cast<const x86_64::StubHeader*>(memory);
  std::uint8_t* at = memory + sizeof(x86_64::StubHeader);
  for (const Site& site : sites) {
    at += -reinterpret_cast<std::uintptr_t>(at) & 15;
    const auto instruction = x86_64::decode(reinterpret_cast<const void*>(site.address), site.bytes);
    const std::size_t written = instruction ? x86_64::write_stub(at, header, *instruction, site.address) : 0;
    if (written == 0) {
      ++plan.report.skipped;
      continue;
    }
    plan.add(site, reinterpret_cast<std::uintptr_t>(at));
    if (instruction->is_fence()) ++plan.report.fences;
    at += written;
  }
}

}  // namespace

Result<PatchReport> patch(const Scan& scan) {
  MUSUBI_CHECK(x86_64::is_attached());
  if (scan.sites.empty()) return PatchReport{};
  const std::size_t bytes =
      rounded_up(sizeof(x86_64::StubHeader) + scan.sites.size() * x86_64::stub_bytes_max);
  Result<std::uint8_t*> memory = map_near(extent_of(scan.sites), bytes, reach, x86_64::attached_ranges());
  if (!memory) return memory.error();
  Plan plan(scan);
  write_stubs(memory.value(), scan.sites, plan);
  plan.finish();
  const bool ready = plan.open() && ::mprotect(memory.value(), bytes, PROT_READ | PROT_EXEC) == 0;
  if (!ready || !plan.publish_traps()) {
    const std::string cause = ready ? "too many objects" : std::strerror(errno);
    plan.close();
    ::munmap(memory.value(), bytes);
    return Error{"cannot change the program's code to serve its atomics (" + cause +
                 "); allow writable code (SELinux: execmod), or rebuild the program with musubi-cc"};
  }
  plan.apply();
  plan.close();
  return plan.report;
}

}  // namespace musubi::atomics
