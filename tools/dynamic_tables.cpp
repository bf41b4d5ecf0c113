#include "dynamic_tables.h"

#include <algorithm>
#include <charconv>

namespace musubi::tools {
namespace {

struct HashHeader {
  std::uint32_t buckets, first_symbol, filter_words, filter_shift;
};

}  // namespace

bool is_older(std::string_view version, std::string_view other) {
  while (!version.empty() && !other.empty()) {
    unsigned number = 0, others = 0;
    const auto rest = [](std::string_view& text, unsigned& value) {
      const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
      text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
      text.remove_prefix(std::min<std::size_t>(text.size(), 1));
    };
    rest(version, number);
    rest(other, others);
    if (number != others) return number < others;
  }
  return version.empty() && !other.empty();
}

bool DynamicTables::read(ElfFile& result) {
  std::vector<std::uint64_t> needed;
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type == PT_DYNAMIC && !read_entries(segment, needed)) return false;
  }
  for (const std::uint64_t name : needed) {
    const auto text = string(name);
    if (!text) return false;
    result.needed.push_back(*text);
  }
  result.exports_malloc = exports("malloc");
  result.imports = imports();
  result.c_library_needed = newest_c_library();
  result.is_movable_program = (flags_ & DF_1_PIE) != 0;
  return true;
}

// Looks the name up as the dynamic linker does, in the table of the symbols that the file defines. A damaged
// table contains no symbol.
bool DynamicTables::exports(std::string_view name) const {
  std::uint32_t hash = 5381;
  for (const char letter : name) hash = hash * 33 + static_cast<unsigned char>(letter);
  const auto table = offset_of(hashes_);
  const auto header = table ? file_.read<HashHeader>(*table) : std::nullopt;
  if (!header || header->buckets == 0) return false;
  const std::uint64_t buckets = *table + sizeof *header + header->filter_words * sizeof(std::uint64_t);
  const std::uint64_t chains = buckets + header->buckets * sizeof(std::uint32_t);
  const auto first = file_.read<std::uint32_t>(buckets + hash % header->buckets * sizeof(std::uint32_t));
  if (!first || *first < header->first_symbol) return false;
  for (std::uint64_t symbol = *first;; ++symbol) {
    const auto chained =
        file_.read<std::uint32_t>(chains + (symbol - header->first_symbol) * sizeof(std::uint32_t));
    if (!chained) return false;
    if ((*chained | 1U) == (hash | 1U) && defines(symbol, name)) return true;
    if ((*chained & 1U) != 0) return false;
  }
}

// In a program linked to fixed addresses, the table also has the addresses of functions that libraries
// define.
bool DynamicTables::defines(std::uint64_t symbol, std::string_view name) const {
  const auto table = offset_of(symbols_);
  const auto entry = table ? file_.read<Elf64_Sym>(*table + symbol * sizeof(Elf64_Sym)) : std::nullopt;
  return entry && entry->st_shndx != SHN_UNDEF && string(entry->st_name) == name;
}

void DynamicTables::take(const Elf64_Dyn& entry) {
  switch (entry.d_tag) {
    case DT_STRTAB:
      strings_ = entry.d_un.d_ptr;
      break;
    case DT_SYMTAB:
      symbols_ = entry.d_un.d_ptr;
      break;
    case DT_GNU_HASH:
      hashes_ = entry.d_un.d_ptr;
      break;
    case DT_RELA:
      relocations_ = entry.d_un.d_ptr;
      break;
    case DT_RELASZ:
      relocation_bytes_ = entry.d_un.d_val;
      break;
    case DT_JMPREL:
      jump_slots_ = entry.d_un.d_ptr;
      break;
    case DT_PLTRELSZ:
      jump_slot_bytes_ = entry.d_un.d_val;
      break;
    case DT_VERNEED:
      versions_ = entry.d_un.d_ptr;
      break;
    case DT_VERNEEDNUM:
      version_files_ = entry.d_un.d_val;
      break;
    case DT_FLAGS_1:
      flags_ = entry.d_un.d_val;
      break;
    default:
      break;
  }
}

bool DynamicTables::read_entries(const Elf64_Phdr& segment, std::vector<std::uint64_t>& needed) {
  for (std::uint64_t at = 0; at < segment.p_filesz; at += sizeof(Elf64_Dyn)) {
    const auto entry = file_.read<Elf64_Dyn>(segment.p_offset + at);
    if (!entry) return false;
    if (entry->d_tag == DT_NULL) break;
    if (entry->d_tag == DT_NEEDED) needed.push_back(entry->d_un.d_val);
    take(*entry);
  }
  return true;
}

void DynamicTables::add_imports(std::uint64_t table, std::uint64_t bytes,
                                std::vector<std::string>& names) const {
  const auto begin = offset_of(table), symbols = offset_of(symbols_);
  if (!begin || !symbols) return;
  std::uint64_t newest = 0;
  for (std::uint64_t at = 0; at < bytes; at += sizeof(Elf64_Rela)) {
    const auto relocation = file_.read<Elf64_Rela>(*begin + at);
    if (!relocation) return;
    const std::uint64_t symbol = ELF64_R_SYM(relocation->r_info);
    if (symbol == 0 || symbol == newest) continue;
    newest = symbol;
    const auto entry = file_.read<Elf64_Sym>(*symbols + symbol * sizeof(Elf64_Sym));
    // The compiler's headers refer weakly to functions that the program may never call.
    if (!entry || entry->st_shndx != SHN_UNDEF || ELF64_ST_BIND(entry->st_info) == STB_WEAK) continue;
    if (const auto name = string(entry->st_name)) names.push_back(*name);
  }
}

// Functions and variables of other objects, by the places that the dynamic linker fills in.
std::vector<std::string> DynamicTables::imports() const {
  std::vector<std::string> names;
  if (jump_slots_ != 0) add_imports(jump_slots_, jump_slot_bytes_, names);
  if (relocations_ != 0) add_imports(relocations_, relocation_bytes_, names);
  std::ranges::sort(names);
  const auto repeated = std::ranges::unique(names);
  names.erase(repeated.begin(), repeated.end());
  return names;
}

std::string DynamicTables::newest_c_library() const {
  constexpr std::string_view prefix = "GLIBC_";
  std::string newest;
  auto at = versions_ != 0 ? offset_of(versions_) : std::nullopt;
  for (std::uint64_t files = 0; at && files < version_files_; ++files) {
    const auto file = file_.read<Elf64_Verneed>(*at);
    if (!file) break;
    std::uint64_t one = *at + file->vn_aux;
    for (unsigned i = 0; i < file->vn_cnt; ++i) {
      const auto version = file_.read<Elf64_Vernaux>(one);
      const auto name = version ? string(version->vna_name) : std::nullopt;
      if (!name) break;
      if (name->starts_with(prefix) && name->size() > prefix.size() && (*name)[prefix.size()] <= '9' &&
          is_older(newest, name->substr(prefix.size())))
        newest = name->substr(prefix.size());
      if (version->vna_next == 0) break;
      one += version->vna_next;
    }
    if (file->vn_next == 0) break;
    *at += file->vn_next;
  }
  return newest;
}

// The dynamic section holds addresses; the segments map them to file offsets.
std::optional<std::uint64_t> DynamicTables::offset_of(std::uint64_t address) const {
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    if (address - segment.p_vaddr < segment.p_filesz) return segment.p_offset + (address - segment.p_vaddr);
  }
  return std::nullopt;
}

std::optional<std::string> DynamicTables::string(std::uint64_t index) const {
  const auto table = offset_of(strings_);
  if (!table || index > ~*table) return std::nullopt;
  return file_.text(*table + index);
}

}  // namespace musubi::tools
