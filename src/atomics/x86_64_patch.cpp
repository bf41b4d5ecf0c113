#include "atomics/patch.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>

#include "atomics/near_memory.h"
#include "atomics/x86_64_entry.h"
#include "atomics/x86_64_plan.h"
#include "atomics/x86_64_stub.h"
#include "base/check.h"

namespace musubi::atomics {
namespace {

constexpr std::uintptr_t page = 4096;
// Jumps reach 2 GiB; less here, because stubs also refer to data near the code.
constexpr std::size_t reach = (std::size_t{1} << 31) - (std::size_t{64} << 20);
// Room after a program for its growing heap.
constexpr std::size_t heap_room_bytes = std::size_t{64} << 20;

std::uintptr_t page_of(std::uintptr_t address) {
  return address & ~(page - 1);
}
std::size_t rounded_up(std::size_t bytes) {
  return (bytes + page - 1) & ~(page - 1);
}

AddressInterval extent_of(const std::vector<Site>& sites) {
  AddressInterval extent{~std::uintptr_t{0}, 0};
  for (const Site& site : sites) {
    extent.begin = std::min(extent.begin, site.address);
    extent.end = std::max(extent.end, site.address + site.bytes);
  }
  return extent;
}

std::vector<AddressInterval> without_heap_room(std::vector<AddressInterval> free, AddressInterval code) {
  const std::uintptr_t end = page_of(code.end + heap_room_bytes);
  for (AddressInterval& range : free) {
    if (range.begin >= code.begin) range.begin = std::max(range.begin, end);
  }
  std::erase_if(free, [](const AddressInterval& range) { return range.begin >= range.end; });
  return free;
}

// The pages of the program's code that change.
class CodePages {
 public:
  explicit CodePages(const std::vector<x86_64::Change>& changes) {
    for (const x86_64::Change& change : changes) {
      pages_.push_back(page_of(change.address));
      pages_.push_back(page_of(change.address + change.bytes - 1));
    }
    std::sort(pages_.begin(), pages_.end());
    pages_.erase(std::unique(pages_.begin(), pages_.end()), pages_.end());
  }
  // Executable throughout: this very code may be in one of the pages.
  bool open() {
    opened_ = protect(PROT_READ | PROT_WRITE | PROT_EXEC, pages_.size());
    return opened_ == pages_.size();
  }
  void close() const { MUSUBI_CHECK(protect(PROT_READ | PROT_EXEC, opened_) == opened_); }

 private:
  // Result: how many pages, from the first on, now have the protection.
  std::size_t protect(int protection, std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i) {
      if (::mprotect(reinterpret_cast<void*>(pages_[i]), page, protection) != 0) return i;
    }
    return count;
  }

  std::vector<std::uintptr_t> pages_;  // ascending, each once
  std::size_t opened_ = 0;
};

// The table must live as long as the code: forever.
bool publish_traps(std::vector<x86_64::TrapSite> traps) {
  if (traps.empty()) return true;
  std::sort(traps.begin(), traps.end(),
            [](const x86_64::TrapSite& a, const x86_64::TrapSite& b) { return a.address < b.address; });
  auto* table = new x86_64::TrapSite[traps.size()];
  std::copy(traps.begin(), traps.end(), table);
  if (x86_64::add_traps(table, traps.size())) return true;
  delete[] table;
  return false;
}

// This table lives as long.
bool publish_sites(const std::vector<Site>& sites) {
  auto* table = new Site[sites.size()];
  std::copy(sites.begin(), sites.end(), table);
  if (x86_64::add_sites(table, sites.size())) return true;
  delete[] table;
  return false;
}

// jmp *0(%rip): the stubs may be out of reach from here.
void write_target(const x86_64::TrampolineTarget& target) {
  constexpr std::uint8_t far_jump[] = {0xff, 0x25, 0, 0, 0, 0};
  auto* at = reinterpret_cast<std::uint8_t*>(target.address);
  std::memcpy(at, far_jump, sizeof far_jump);
  std::memcpy(at + sizeof far_jump, &target.stub, sizeof target.stub);
  static_assert(sizeof far_jump + sizeof target.stub == x86_64::target_bytes);
}

bool close_landings(const x86_64::Plan& plan) {
  const std::vector<std::uintptr_t> pages = plan.target_pages();
  return std::all_of(pages.begin(), pages.end(), [](std::uintptr_t at) {
    return ::mprotect(reinterpret_cast<void*>(at), page, PROT_READ | PROT_EXEC) == 0;
  });
}
void drop_landings(const x86_64::Plan& plan) {
  for (const std::uintptr_t at : plan.target_pages()) ::munmap(reinterpret_cast<void*>(at), page);
}

void write_header(std::uint8_t* at) {
  auto* header = new (at) x86_64::StubHeader;
  header->entry = reinterpret_cast<std::uintptr_t>(&x86_64::musubi_atomics_entry);
  for (const AddressInterval& range : x86_64::attached_ranges().filter()) {
    header->filter[header->filter_count++] = range;
  }
}

void write_stubs(std::uint8_t* memory, const std::vector<Site>& sites, x86_64::Plan& plan) {
  write_header(memory);
  const auto& header = *reinterpret_cast<const x86_64::StubHeader*>(memory);
  std::uint8_t* at = memory + sizeof(x86_64::StubHeader);
  for (auto site = sites.rbegin(); site != sites.rend(); ++site) {
    at += -reinterpret_cast<std::uintptr_t>(at) & 15;
    auto instruction = x86_64::decode(site->code.data(), site->bytes);
    if (instruction) instruction->order = site->order;
    const std::size_t written = instruction ? x86_64::write_stub(at, header, *instruction, site->address) : 0;
    if (written == 0) {
      ++plan.report.skipped;
      continue;
    }
    plan.add(*site, reinterpret_cast<std::uintptr_t>(at));
    if (instruction->is_fence()) ++plan.report.fences;
    at += written;
  }
}

}  // namespace

std::size_t room_for(const Scan& scan) {
  if (scan.sites.empty()) return 0;
  return rounded_up(sizeof(x86_64::StubHeader) + scan.sites.size() * x86_64::stub_bytes_max);
}

Result<PatchReport> patch(const Scan& scan, FreeMemory& free, std::uintptr_t place) {
  MUSUBI_CHECK(x86_64::is_attached());
  if (scan.sites.empty()) return PatchReport{};
  const AddressInterval code = extent_of(scan.sites);
  const std::size_t bytes = room_for(scan);
  Result<std::uint8_t*> memory = place != 0 ? map_at(place, bytes) : free.map_near(code, bytes, reach);
  if (!memory) return memory.error();
  const auto map = [&free](std::uintptr_t at) {
    free.take({at, at + page});
    return map_page(at);
  };
  x86_64::Plan plan(scan.padding, x86_64::OverlappingJumps(without_heap_room(free.gaps(), code), map));
  write_stubs(memory.value(), scan.sites, plan);
  for (const x86_64::TrampolineTarget& target : plan.targets()) write_target(target);
  CodePages pages(plan.changes());
  const bool ready =
      pages.open() && close_landings(plan) && ::mprotect(memory.value(), bytes, PROT_READ | PROT_EXEC) == 0;
  if (!ready || !publish_traps(plan.traps()) || !publish_sites(scan.sites)) {
    const std::string cause = ready ? "too many objects" : std::strerror(errno);
    pages.close();
    drop_landings(plan);
    ::munmap(memory.value(), bytes);
    return Error{"cannot change the program's code to serve its atomics (" + cause +
                 "); allow writable code (SELinux: execmod), or rebuild the program with musubi-cc"};
  }
  for (const x86_64::Change& change : plan.changes()) {
    std::memcpy(reinterpret_cast<void*>(change.address), change.code.data(), change.bytes);
  }
  pages.close();
  return plan.report;
}

PatchReport forecast(const Scan& scan) {
  if (scan.sites.empty()) return {};
  const AddressInterval code = extent_of(scan.sites);
  constexpr std::uintptr_t lowest = 64 * 1024;
  constexpr std::uintptr_t highest = std::uintptr_t{1} << 47;
  const std::vector<AddressInterval> free{{lowest, page_of(std::max(code.begin, lowest))},
                                          {page_of(code.end) + page, highest}};
  x86_64::Plan plan(scan.padding, x86_64::OverlappingJumps(without_heap_room(free, code),
                                                           [](std::uintptr_t) { return true; }));
  for (auto site = scan.sites.rbegin(); site != scan.sites.rend(); ++site) {
    plan.add(*site, code.begin);
    if (site->kind == SiteKind::fence) ++plan.report.fences;
  }
  return plan.report;
}

}  // namespace musubi::atomics
