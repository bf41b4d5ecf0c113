#include "stores/loaded_objects.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include <algorithm>
#include <cstring>
#include <string_view>

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

// Any function of this object; not a const object, which the linker may place elsewhere.
void here() {}

bool holds(const dl_phdr_info& info, std::uintptr_t address) {
  for (unsigned i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info.dlpi_phdr[i];
    if (header.p_type == PT_LOAD && address - (info.dlpi_addr + header.p_vaddr) < header.p_memsz) return true;
  }
  return false;
}

bool has_name(const dl_phdr_info& info, std::string_view name) {
  std::string_view path = info.dlpi_name;
  path.remove_prefix(std::min(path.size(), path.rfind('/') + 1));
  return path.starts_with(name);
}

// If program and runtime are one object, its code is examined.
LoadedCode::Kind kind_of(const dl_phdr_info& info) {
  if (info.dlpi_name == nullptr || info.dlpi_name[0] == '\0') return LoadedCode::Kind::program;
  if (has_name(info, "libm.so") || has_name(info, "libmvec.so")) return LoadedCode::Kind::mathematics;
  for (const std::string_view name : {"libstdc++.so", "libc++", "libgfortran.so", "libquadmath.so"}) {
    if (has_name(info, name)) return LoadedCode::Kind::languages;
  }
  const bool is_system = holds(info, reinterpret_cast<std::uintptr_t>(&::qsort)) ||
                         holds(info, reinterpret_cast<std::uintptr_t>(&here)) ||
                         info.dlpi_addr == ::getauxval(AT_BASE) || holds(info, ::getauxval(AT_SYSINFO_EHDR));
  return is_system ? LoadedCode::Kind::unknown : LoadedCode::Kind::program;
}

std::uintptr_t value_of(const ElfW(Dyn) * dynamic, ElfW(Sxword) tag) {
  for (; dynamic != nullptr && dynamic->d_tag != DT_NULL; ++dynamic) {
    if (dynamic->d_tag == tag) return dynamic->d_un.d_ptr;
  }
  return 0;
}

// The linker has relocated these addresses, except those of a static program.
std::uintptr_t address_of(const ElfW(Dyn) * dynamic, ElfW(Sxword) tag, std::uintptr_t base) {
  const std::uintptr_t value = value_of(dynamic, tag);
  return value != 0 && value < base ? value + base : value;
}

// The symbol of the relocation that fills `slot`, 0: none.
std::size_t symbol_in(std::uintptr_t table, std::size_t bytes, std::size_t skipped, std::uintptr_t slot) {
  const auto* relocation = reinterpret_cast<const ElfW(Rela)*>(table);
  for (std::size_t i = skipped; i < bytes / sizeof *relocation; ++i) {
    if (relocation[i].r_offset != slot) continue;
    const auto type = ELF64_R_TYPE(relocation[i].r_info);
    return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT ? ELF64_R_SYM(relocation[i].r_info) : 0;
  }
  return 0;
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

int LoadedCode::add_object(dl_phdr_info* info, std::size_t, void* context) noexcept {
  static_cast<LoadedCode*>(context)->add(*info);
  return 0;
}

bool LoadedCode::refresh() noexcept {
  const auto look = [](dl_phdr_info* info, std::size_t, void* numbers) {
    auto* seen = static_cast<unsigned long long*>(numbers);
    seen[0] = info->dlpi_adds;
    seen[1] = info->dlpi_subs;
    return 1;
  };
  unsigned long long now[2]{};
  ::dl_iterate_phdr(look, now);
  if (object_count_ != 0 && now[0] == loaded_ && now[1] == unloaded_) return false;
  loaded_ = now[0];
  unloaded_ = now[1];
  range_count_ = object_count_ = 0;
  last_ = nullptr;
  ::dl_iterate_phdr(&add_object, this);
  return true;
}

void LoadedCode::add(const dl_phdr_info& info) noexcept {
  if (object_count_ == objects_max) return;
  Object object{~std::uintptr_t{0}, 0, info.dlpi_addr, nullptr};
  const Kind kind = kind_of(info);
  for (unsigned i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info.dlpi_phdr[i];
    const std::uintptr_t begin = info.dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_DYNAMIC) object.dynamic = reinterpret_cast<const ElfW(Dyn)*>(begin);
    if (header.p_type != PT_LOAD) continue;
    object.begin = std::min(object.begin, begin);
    object.end = std::max(object.end, begin + header.p_memsz);
    if ((header.p_flags & PF_X) != 0 && range_count_ < ranges_max)
      ranges_[range_count_++] = {begin, begin + header.p_filesz, kind};
  }
  objects_[object_count_++] = object;
}

const LoadedCode::Range* LoadedCode::range_at(std::uintptr_t address) const noexcept {
  const auto contains = [address](const Range& r) { return address >= r.begin && address < r.end; };
  if (last_ != nullptr && contains(*last_)) return last_;
  const auto* const end = ranges_.data() + range_count_;
  const auto* const found = std::find_if(ranges_.data(), end, contains);
  if (found == end) return nullptr;
  last_ = found;
  return found;
}

const LoadedCode::Object* LoadedCode::object_at(std::uintptr_t address) const noexcept {
  const auto* const end = objects_.data() + object_count_;
  const auto* const found = std::find_if(objects_.data(), end, [address](const Object& object) {
    return address >= object.begin && address < object.end;
  });
  return found == end ? nullptr : found;
}

const char* LoadedCode::imported_name(std::uintptr_t slot) const noexcept {
  const Object* const object = object_at(slot);
  if (object == nullptr || object->dynamic == nullptr) return nullptr;
  const ElfW(Dyn)* const dynamic = object->dynamic;
  const auto address = [&](ElfW(Sxword) tag) { return address_of(dynamic, tag, object->base); };
  const std::uintptr_t symbols = address(DT_SYMTAB), strings = address(DT_STRTAB);
  if (symbols == 0 || strings == 0 || value_of(dynamic, DT_PLTREL) == DT_REL) return nullptr;
  const std::uintptr_t in_object = slot - object->base;
  std::size_t symbol = symbol_in(address(DT_JMPREL), value_of(dynamic, DT_PLTRELSZ), 0, in_object);
  if (symbol == 0) {
    symbol =
        symbol_in(address(DT_RELA), value_of(dynamic, DT_RELASZ), value_of(dynamic, DT_RELACOUNT), in_object);
  }
  if (symbol == 0) return nullptr;
  return reinterpret_cast<const char*>(strings) + reinterpret_cast<const ElfW(Sym)*>(symbols)[symbol].st_name;
}

std::uintptr_t LoadedCode::imported_address(std::uintptr_t slot, const char* name) const noexcept {
  std::uintptr_t bound = 0;
  std::memcpy(&bound, reinterpret_cast<const void*>(slot), sizeof bound);
  // Until the first call the word leads to the linker, by way of the object's own table.
  const Object* const own = object_at(slot);
  if (own != nullptr && (bound < own->begin || bound >= own->end)) return bound;
  return reinterpret_cast<std::uintptr_t>(::dlsym(RTLD_DEFAULT, name));
}

}  // namespace musubi::stores
