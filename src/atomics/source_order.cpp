#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "atomics/mapped_file.h"
#include "atomics/site.h"
#include "checks/abi.h"

namespace musubi::atomics {
namespace {

// Ascending. The section has a distance of 4 bytes for each instruction, from the distance's own address.
std::vector<std::uintptr_t> relaxed_instructions(const std::string& path, std::uintptr_t base) {
  std::vector<std::uintptr_t> addresses;
  const MappedFile file(path.c_str());
  const Sections all = file.sections();
  for (const ElfW(Shdr) & section : all) {
    if (section.sh_type == SHT_NOBITS || file.name_of(all, section) != MUSUBI_CHECKS_RELAXED_SECTION)
      continue;
    std::uintptr_t at = base + section.sh_addr;
    for (const std::int32_t distance :
         file.at<std::int32_t>(section.sh_offset, section.sh_size / sizeof(std::int32_t))) {
      addresses.push_back(at + static_cast<std::uintptr_t>(std::intptr_t{distance}));
      at += sizeof distance;
    }
  }
  std::ranges::sort(addresses);
  return addresses;
}

}  // namespace

void mark_relaxed(Scan& scan, const std::string& path, std::uintptr_t base) {
  const std::vector<std::uintptr_t> marked = relaxed_instructions(path, base);
  for (Site& site : scan.sites) {
    const bool is_marked = std::ranges::binary_search(marked, site.address);
    if (is_marked && site.kind == SiteKind::read_modify_write) site.order = AtomicOrder::relaxed;
  }
}

}  // namespace musubi::atomics
