#include "atomics/near_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <vector>

namespace musubi::atomics {
namespace {

constexpr std::uintptr_t page = 4096;
constexpr std::uintptr_t lowest = 64 * 1024;  // the default of vm.mmap_min_addr

std::uintptr_t rounded_up(std::uintptr_t value) {
  return (value + page - 1) & ~(page - 1);
}

// The unmapped ranges, ascending.
std::vector<AddressInterval> free_ranges() {
  std::vector<AddressInterval> gaps;
  std::FILE* maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return gaps;
  std::uintptr_t free_from = lowest;
  char line[512];
  bool at_line_start = true;
  while (std::fgets(line, sizeof line, maps) != nullptr) {
    unsigned long begin, end;
    if (at_line_start && std::sscanf(line, "%lx-%lx", &begin, &end) == 2) {
      if (begin > free_from) gaps.push_back({free_from, begin});
      free_from = std::max<std::uintptr_t>(free_from, end);
    }
    at_line_start = std::char_traits<char>::find(line, std::char_traits<char>::length(line), '\n') != nullptr;
  }
  std::fclose(maps);
  return gaps;
}

std::uint8_t* try_map(std::uintptr_t at, std::size_t bytes) {
  void* wanted = reinterpret_cast<void*>(at);
  void* mapped =
      ::mmap(wanted, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  if (mapped == wanted) return static_cast<std::uint8_t*>(mapped);
  ::munmap(mapped, bytes);  // a kernel that takes the address for a hint
  return nullptr;
}

}  // namespace

FreeMemory::FreeMemory(const SharedRanges& reserved) : gaps_(free_ranges()) {
  for (const AddressInterval& taken : reserved.all()) take(taken);
}

void FreeMemory::take(AddressInterval range) {
  const std::uintptr_t begin = range.begin & ~(page - 1), end = rounded_up(range.end);
  const auto ends_before = [](const AddressInterval& gap, std::uintptr_t at) { return gap.end <= at; };
  auto gap = std::lower_bound(gaps_.begin(), gaps_.end(), begin, ends_before);
  while (gap != gaps_.end() && gap->begin < end) {
    const AddressInterval below{gap->begin, begin}, above{end, gap->end};
    gap = gaps_.erase(gap);
    if (above.begin < above.end) gap = gaps_.insert(gap, above);
    if (below.begin < below.end) gap = gaps_.insert(gap, below) + 1;
    if (above.begin < above.end) break;
  }
}

bool map_page(std::uintptr_t address) {
  return try_map(address, page) != nullptr;
}

Result<std::uint8_t*> FreeMemory::map_near(AddressInterval code, std::size_t bytes, std::size_t reach) {
  bytes = rounded_up(bytes);
  const std::uintptr_t low = std::max(lowest, code.end > reach ? rounded_up(code.end - reach) : 0);
  const std::uintptr_t high = code.begin + reach;
  std::vector<std::uintptr_t> below, above;
  for (const AddressInterval& gap : gaps_) {
    const std::uintptr_t begin = std::max(gap.begin, low);
    const std::uintptr_t end = std::min(gap.end, high) & ~(page - 1);
    if (end < begin || end - begin < bytes) continue;
    (end <= code.begin ? below : above).push_back(end - bytes);
  }
  std::reverse(below.begin(), below.end());
  // Above the code the farthest places are first: the heap needs the room right after a program.
  std::reverse(above.begin(), above.end());
  below.insert(below.end(), above.begin(), above.end());
  for (std::uintptr_t candidate : below) {
    std::uint8_t* const mapped = try_map(candidate, bytes);
    take({candidate, candidate + bytes});  // mapped now, here or by other code
    if (mapped != nullptr) return mapped;
  }
  return Error{
      "found no free memory within 2 GiB of the program's code for the stubs of its atomics; "
      "link it position-independent (-pie)"};
}

Result<std::uint8_t*> map_at(std::uintptr_t address, std::size_t bytes) {
  if (std::uint8_t* mapped = try_map(address, rounded_up(bytes))) return mapped;
  return Error{"the place for the stubs of a library's atomics is in use"};
}

}  // namespace musubi::atomics
