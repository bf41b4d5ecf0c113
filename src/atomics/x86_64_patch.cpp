#include "atomics/patch.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>

#include "atomics/near_memory.h"
#include "atomics/x86_64_entry.h"
#include "atomics/x86_64_stub.h"
#include "base/check.h"

namespace musubi::atomics {
namespace {

constexpr std::uintptr_t page = 4096;
constexpr std::size_t jump_bytes = 5;
// Jumps reach 2 GiB; less, because stubs refer to data beside the code as well.
constexpr std::size_t reach = (std::size_t{1} << 31) - (std::size_t{64} << 20);

std::uintptr_t page_of(std::uintptr_t address) {
  return address & ~(page - 1);
}
std::size_t rounded_up(std::size_t bytes) {
  return (bytes + page - 1) & ~(page - 1);
}

// A site with its finished stub.
struct Patch {
  std::uintptr_t address;
  std::uintptr_t stub;
  std::uint8_t bytes;
  bool is_jump;
};

AddressRange extent_of(const std::vector<Site>& sites) {
  AddressRange extent{~std::uintptr_t{0}, 0};
  for (const Site& site : sites) {
    extent.begin = std::min(extent.begin, site.address);
    extent.end = std::max(extent.end, site.address + site.bytes);
  }
  return extent;
}

void write_header(std::uint8_t* at) {
  auto* header = new (at) x86_64::StubHeader;
  header->entry = reinterpret_cast<std::uintptr_t>(&x86_64::musubi_atomics_entry);
  for (const AddressRange& range : x86_64::attached_ranges().filter())
    header->filter[header->filter_count++] = range;
}

std::vector<Patch> write_stubs(std::uint8_t* memory, const std::vector<Site>& sites, PatchReport& report) {
  write_header(memory);
  const auto& header = *reinterpret_cast<const x86_64::StubHeader*>(memory);
  std::uint8_t* at = memory + sizeof(x86_64::StubHeader);
  std::vector<Patch> patches;
  for (const Site& site : sites) {
    at += -reinterpret_cast<std::uintptr_t>(at) & 15;
    const auto instruction = x86_64::decode(reinterpret_cast<const void*>(site.address), site.bytes);
    const std::size_t written = instruction ? x86_64::write_stub(at, header, *instruction, site.address) : 0;
    if (written == 0) {
      ++report.skipped;
      continue;
    }
    const bool is_jump = site.bytes >= jump_bytes && !site.entered_inside;
    patches.push_back({site.address, reinterpret_cast<std::uintptr_t>(at), site.bytes, is_jump});
    ++(is_jump ? report.jumps : report.traps);
    if (instruction->is_fence()) ++report.fences;
    at += written;
  }
  return patches;
}

// The pages that the patches touch, ascending, each once.
std::vector<std::uintptr_t> pages_of(const std::vector<Patch>& patches) {
  std::vector<std::uintptr_t> pages;
  for (const Patch& patch : patches) {
    pages.push_back(page_of(patch.address));
    if (patch.is_jump) pages.push_back(page_of(patch.address + patch.bytes - 1));
  }
  std::sort(pages.begin(), pages.end());
  pages.erase(std::unique(pages.begin(), pages.end()), pages.end());
  return pages;
}

// Result: how many pages, from the first on, have the protection now.
std::size_t protect(const std::vector<std::uintptr_t>& pages, int protection) {
  for (std::size_t i = 0; i < pages.size(); ++i) {
    if (::mprotect(reinterpret_cast<void*>(pages[i]), page, protection) != 0) return i;
  }
  return pages.size();
}

void write_site(const Patch& patch) {
  auto* code = reinterpret_cast<std::uint8_t*>(patch.address);
  constexpr std::uint8_t breakpoint = 0xcc;
  if (!patch.is_jump) {
    *code = breakpoint;
    return;
  }
  const auto distance = static_cast<std::int32_t>(patch.stub - (patch.address + jump_bytes));
  code[0] = 0xe9;
  std::memcpy(code + 1, &distance, sizeof distance);
  std::memset(code + jump_bytes, breakpoint, patch.bytes - jump_bytes);
}

// The table lies behind the stubs for as long as they do.
bool publish_traps(std::vector<Patch> patches) {
  std::erase_if(patches, [](const Patch& patch) { return patch.is_jump; });
  if (patches.empty()) return true;
  std::sort(patches.begin(), patches.end(),
            [](const Patch& a, const Patch& b) { return a.address < b.address; });
  auto* table = new x86_64::TrapSite[patches.size()];
  for (std::size_t i = 0; i < patches.size(); ++i) table[i] = {patches[i].address, patches[i].stub};
  if (x86_64::add_traps(table, patches.size())) return true;
  delete[] table;
  return false;
}

}  // namespace

Result<PatchReport> patch(const std::vector<Site>& sites) {
  MUSUBI_CHECK(x86_64::is_attached());
  PatchReport report;
  if (sites.empty()) return report;
  const std::size_t bytes = rounded_up(sizeof(x86_64::StubHeader) + sites.size() * x86_64::stub_bytes_max);
  Result<std::uint8_t*> memory = map_near(extent_of(sites), bytes, reach, x86_64::attached_ranges());
  if (!memory) return memory.error();
  const std::vector<Patch> patches = write_stubs(memory.value(), sites, report);
  const std::vector<std::uintptr_t> pages = pages_of(patches);
  // Executable all the while: this very code may lie in one of the pages.
  const std::size_t opened = protect(pages, PROT_READ | PROT_WRITE | PROT_EXEC);
  const bool stubs_ready = ::mprotect(memory.value(), bytes, PROT_READ | PROT_EXEC) == 0;
  if (opened != pages.size() || !stubs_ready || !publish_traps(patches)) {
    const std::string cause = std::strerror(errno);
    protect({pages.begin(), pages.begin() + static_cast<std::ptrdiff_t>(opened)}, PROT_READ | PROT_EXEC);
    ::munmap(memory.value(), bytes);
    return Error{"cannot change the program's code to serve its atomics (" + cause +
                 "); allow writable code (SELinux: execmod), or rebuild the program with musubi-cc"};
  }
  for (const Patch& site : patches) write_site(site);
  MUSUBI_CHECK(protect(pages, PROT_READ | PROT_EXEC) == pages.size());
  return report;
}

}  // namespace musubi::atomics
