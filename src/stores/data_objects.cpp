#include "stores/data_objects.h"

#include <elf.h>
#include <link.h>

#include <algorithm>

#include "os/symbol_table.h"

namespace musubi::stores {
namespace {

std::uintptr_t end_of(const AddressRange& range) {
  return range.begin + range.bytes;
}

AddressRange range_around(const std::vector<AddressRange>& ranges, std::uintptr_t address) {
  const auto after = std::ranges::upper_bound(ranges, address, {}, &AddressRange::begin);
  if (after == ranges.begin() || !std::prev(after)->contains(address)) return {};
  return *std::prev(after);
}

// Sorts the ranges and joins overlapping ones, such as a variable and its alias.
void put_in_order(std::vector<AddressRange>& ranges) {
  std::ranges::sort(ranges, {}, &AddressRange::begin);
  std::size_t kept = 0;
  for (const AddressRange& range : ranges) {
    if (kept != 0 && range.begin < end_of(ranges[kept - 1])) {
      AddressRange& last = ranges[kept - 1];
      last.bytes = std::max(end_of(last), end_of(range)) - last.begin;
    } else {
      ranges[kept++] = range;
    }
  }
  ranges.resize(kept);
}

// Only the program's own objects have shared variables.
bool is_of_program(const dl_phdr_info& info, const LoadedCode& code) {
  for (unsigned i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info.dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    const LoadedCode::Range* const range = code.range_at(info.dlpi_addr + header.p_vaddr);
    if (range != nullptr && range->kind == LoadedCode::Kind::program) return true;
  }
  return false;
}

}  // namespace

void DataObjects::refresh(const LoadedCode& code) {
  segments_.clear();
  variables_.clear();
  struct Context {
    DataObjects& objects;
    const LoadedCode& code;
  } context{*this, code};
  const auto add = [](dl_phdr_info* info, std::size_t, void* data) {
    const auto& [objects, all_code] = *static_cast<const Context*>(data);
    for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
      const ElfW(Phdr)& header = info->dlpi_phdr[i];
      if (header.p_type != PT_LOAD || (header.p_flags & PF_W) == 0) continue;
      objects.segments_.push_back({info->dlpi_addr + header.p_vaddr, header.p_memsz});
    }
    if (is_of_program(*info, all_code))
      objects.add_variables(os::file_of_object(info->dlpi_name), info->dlpi_addr);
    return 0;
  };
  ::dl_iterate_phdr(add, &context);
  put_in_order(segments_);
  put_in_order(variables_);
}

void DataObjects::add_variables(const char* path, std::uintptr_t base) {
  const os::SymbolTable table(path);
  for (const ElfW(Sym) & symbol : table.symbols()) {
    const bool is_variable = ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT && symbol.st_shndx != SHN_UNDEF;
    if (is_variable && symbol.st_size != 0) variables_.push_back({base + symbol.st_value, symbol.st_size});
  }
}

AddressRange DataObjects::object_at(std::uintptr_t address) const {
  const AddressRange segment = segment_at(address);
  if (segment.bytes == 0) return {};
  const AddressRange variable = range_around(variables_, address);
  return variable.bytes != 0 ? variable : segment;
}

AddressRange DataObjects::segment_at(std::uintptr_t address) const {
  return range_around(segments_, address);
}

}  // namespace musubi::stores
