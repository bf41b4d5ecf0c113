#include "image/libraries/elf_image.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <span>

namespace musubi::image {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t copy_relocation = R_X86_64_COPY;
constexpr std::uint32_t linker_slots[] = {R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT, R_X86_64_DTPMOD64,
                                          R_X86_64_DTPOFF64, R_X86_64_TPOFF64,   R_X86_64_TLSDESC,
                                          R_X86_64_IRELATIVE};
constexpr std::uint32_t wide_slot = R_X86_64_TLSDESC;
#elif defined(__aarch64__)
constexpr std::uint32_t copy_relocation = R_AARCH64_COPY;
constexpr std::uint32_t linker_slots[] = {R_AARCH64_GLOB_DAT,   R_AARCH64_JUMP_SLOT, R_AARCH64_TLS_DTPMOD,
                                          R_AARCH64_TLS_DTPREL, R_AARCH64_TLS_TPREL, R_AARCH64_TLSDESC,
                                          R_AARCH64_IRELATIVE};
constexpr std::uint32_t wide_slot = R_AARCH64_TLSDESC;
#else
#error "The relocations of this processor are not known yet"
#endif

struct Bytes {
  std::uintptr_t begin;
  std::uintptr_t end;
};

// The entries of the dynamic section that describe relocations. Addresses are absolute.
struct Dynamic {
  std::span<const ElfW(Rela)> relocations;
  std::span<const ElfW(Rela)> jump_slots;
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  std::uintptr_t got = 0;
};

std::uintptr_t page_floor(std::uintptr_t address, std::uintptr_t page) {
  return address & ~(page - 1);
}
std::uintptr_t page_ceiling(std::uintptr_t address, std::uintptr_t page) {
  return page_floor(address + page - 1, page);
}

const ElfW(Phdr) * find_header(const dl_phdr_info& object, std::uint32_t type) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    if (object.dlpi_phdr[i].p_type == type) return &object.dlpi_phdr[i];
  }
  return nullptr;
}

Dynamic read_dynamic(const dl_phdr_info& object) {
  Dynamic result;
  const ElfW(Phdr)* header = find_header(object, PT_DYNAMIC);
  if (header == nullptr) return result;
  std::uintptr_t relocations = 0, jump_slots = 0;
  std::size_t relocation_bytes = 0, jump_slot_bytes = 0;
  // glibc relocates the entries in place; other linkers leave the values of the file.
  const auto absolute = [&](std::uintptr_t value) {
    return value != 0 && value < object.dlpi_addr ? value + object.dlpi_addr : value;
  };
  for (auto* entry = reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + header->p_vaddr);
       entry->d_tag != DT_NULL; ++entry) {
    switch (entry->d_tag) {
      case DT_RELA:
        relocations = absolute(entry->d_un.d_ptr);
        break;
      case DT_RELASZ:
        relocation_bytes = entry->d_un.d_val;
        break;
      case DT_JMPREL:
        jump_slots = absolute(entry->d_un.d_ptr);
        break;
      case DT_PLTRELSZ:
        jump_slot_bytes = entry->d_un.d_val;
        break;
      case DT_SYMTAB:
        result.symbols = reinterpret_cast<const ElfW(Sym)*>(absolute(entry->d_un.d_ptr));
        break;
      case DT_STRTAB:
        result.strings = reinterpret_cast<const char*>(absolute(entry->d_un.d_ptr));
        break;
      case DT_PLTGOT:
        result.got = absolute(entry->d_un.d_ptr);
        break;
      default:
        break;
    }
  }
  result.relocations = {reinterpret_cast<const ElfW(Rela)*>(relocations),
                        relocation_bytes / sizeof(ElfW(Rela))};
  result.jump_slots = {reinterpret_cast<const ElfW(Rela)*>(jump_slots), jump_slot_bytes / sizeof(ElfW(Rela))};
  return result;
}

void add_slots(std::span<const ElfW(Rela)> relocations, const dl_phdr_info& object, const Dynamic& dynamic,
               const IsPrivate& is_private, std::vector<Bytes>& result) {
  for (const ElfW(Rela) & relocation : relocations) {
    const std::uintptr_t address = object.dlpi_addr + relocation.r_offset;
    const auto type = static_cast<std::uint32_t>(ELF64_R_TYPE(relocation.r_info));
    if (type == copy_relocation) {
      const ElfW(Sym)& symbol = dynamic.symbols[ELF64_R_SYM(relocation.r_info)];
      if (is_private == nullptr || is_private(dynamic.strings + symbol.st_name))
        result.push_back({address, address + symbol.st_size});
    } else if (std::ranges::find(linker_slots, type) != std::end(linker_slots)) {
      result.push_back({address, address + (type == wide_slot ? 2 : 1) * sizeof(void*)});
    }
  }
}

// All bytes that the dynamic linker writes for itself; ascending, joined.
std::vector<Bytes> linker_bytes(const dl_phdr_info& object, const IsPrivate& is_private) {
  const Dynamic dynamic = read_dynamic(object);
  std::vector<Bytes> all;
  add_slots(dynamic.relocations, object, dynamic, is_private, all);
  add_slots(dynamic.jump_slots, object, dynamic, is_private, all);
  // The first words of the global offset table: dynamic section, link map and resolver.
  if (dynamic.got != 0) all.push_back({dynamic.got, dynamic.got + 3 * sizeof(void*)});
  std::ranges::sort(all, {}, &Bytes::begin);
  std::vector<Bytes> joined;
  for (const Bytes& bytes : all) {
    if (!joined.empty() && bytes.begin <= joined.back().end) {
      joined.back().end = std::max(joined.back().end, bytes.end);
    } else {
      joined.push_back(bytes);
    }
  }
  return joined;
}

// The pages that the dynamic linker protects after relocation; it rounds both ends down.
Bytes protected_pages(const dl_phdr_info& object, std::uintptr_t page) {
  const ElfW(Phdr)* header = find_header(object, PT_GNU_RELRO);
  if (header == nullptr) return {0, 0};
  const std::uintptr_t begin = object.dlpi_addr + header->p_vaddr;
  return {page_floor(begin, page), page_floor(begin + header->p_memsz, page)};
}

// End of the pages of [begin, end) that the kernel filled from the file; .bss follows.
std::uintptr_t end_of_file_pages(const dl_phdr_info& object, Bytes range, std::uintptr_t page) {
  std::uintptr_t filled = range.begin;
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = object.dlpi_phdr[i];
    const std::uintptr_t begin = page_floor(object.dlpi_addr + header.p_vaddr, page);
    if (header.p_type != PT_LOAD || header.p_filesz == 0 || begin >= range.end) continue;
    filled = std::max(filled, page_ceiling(object.dlpi_addr + header.p_vaddr + header.p_filesz, page));
  }
  return std::min(filled, range.end);
}

std::vector<Bytes> writable_pages(const dl_phdr_info& object, std::uintptr_t page) {
  const Bytes sealed = protected_pages(object, page);
  std::vector<Bytes> result;
  const auto add = [&](std::uintptr_t begin, std::uintptr_t end) {
    if (begin < end) result.push_back({begin, end});
  };
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = object.dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_W) == 0 || header.p_memsz == 0) continue;
    const std::uintptr_t begin = page_floor(object.dlpi_addr + header.p_vaddr, page);
    const std::uintptr_t end = page_ceiling(object.dlpi_addr + header.p_vaddr + header.p_memsz, page);
    if (sealed.end <= begin || sealed.begin >= end) {
      add(begin, end);
    } else {
      add(begin, sealed.begin);
      add(sealed.end, end);
    }
  }
  std::ranges::sort(result, {}, &Bytes::begin);
  return result;
}

}  // namespace

Globals find_globals(const dl_phdr_info& object, const IsPrivate& is_private) {
  const std::uintptr_t page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::vector<Bytes> pages = writable_pages(object, page);
  const std::vector<Bytes> linker = linker_bytes(object, is_private);
  Globals result;
  for (const Bytes& range : pages) {
    result.shared.push_back(
        {range.begin, range.end - range.begin, end_of_file_pages(object, range, page) - range.begin});
    for (const Bytes& bytes : linker) {
      const std::uintptr_t begin = std::max(bytes.begin, range.begin);
      const std::uintptr_t end = std::min(bytes.end, range.end);
      if (begin < end) result.private_bytes.push_back({begin, end - begin});
    }
  }
  return result;
}

bool imports_any(const dl_phdr_info& object, std::span<const std::string_view> names) {
  const Dynamic dynamic = read_dynamic(object);
  if (dynamic.symbols == nullptr || dynamic.strings == nullptr) return false;
  const auto is_one = [&](const ElfW(Rela) & relocation) {
    const ElfW(Sym)& symbol = dynamic.symbols[ELF64_R_SYM(relocation.r_info)];
    return symbol.st_shndx == SHN_UNDEF &&
           std::ranges::find(names, std::string_view(dynamic.strings + symbol.st_name)) != names.end();
  };
  return std::ranges::any_of(dynamic.jump_slots, is_one) || std::ranges::any_of(dynamic.relocations, is_one);
}

std::string build_id(const dl_phdr_info& object) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = object.dlpi_phdr[i];
    if (header.p_type != PT_NOTE) continue;
    const auto* at = reinterpret_cast<const unsigned char*>(object.dlpi_addr + header.p_vaddr);
    const unsigned char* const end = at + header.p_memsz;
    const auto padded = [](std::size_t bytes) { return (bytes + 3) & ~std::size_t{3}; };
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      const auto& note = *reinterpret_cast<const ElfW(Nhdr)*>(at);
      const unsigned char* const name = at + sizeof note;
      const unsigned char* const content = name + padded(note.n_namesz);
      at = content + padded(note.n_descsz);
      if (at > end) break;
      if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 || name[0] != 'G') continue;
      std::string text;
      for (std::size_t byte = 0; byte < note.n_descsz; ++byte) {
        constexpr char digits[] = "0123456789abcdef";
        text += digits[content[byte] >> 4];
        text += digits[content[byte] & 15];
      }
      return text;
    }
  }
  return {};
}

}  // namespace musubi::image
