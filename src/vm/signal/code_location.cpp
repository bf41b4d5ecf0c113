#include "vm/signal/code_location.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace musubi::vm {
namespace {

// A file mapped for reading while the object lives.
class MappedFile {
 public:
  explicit MappedFile(const char* path) noexcept {
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    struct stat status {};
    if (::fstat(file, &status) == 0 && status.st_size > 0) {
      void* memory =
          ::mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
      if (memory != MAP_FAILED) {
        data_ = static_cast<const char*>(memory);
        size_ = static_cast<std::size_t>(status.st_size);
      }
    }
    ::close(file);
  }
  ~MappedFile() {
    if (data_ != nullptr) ::munmap(const_cast<char*>(data_), size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // `count` records of T at `offset`, or null when they are not all in the file.
  template <class T>
  const T* at(std::size_t offset, std::size_t count = 1) const noexcept {
    if (offset > size_ || count > (size_ - offset) / sizeof(T)) return nullptr;
    return reinterpret_cast<const T*>(data_ + offset);
  }

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

struct Function {
  const char* name = nullptr;
  std::uintptr_t offset = 0;  // of the address in it
};

// The function (or, by its type, the variable) of the file's full symbol table that covers `address` (as the
// file counts addresses). dladdr knows only exported names: of a plain executable hardly any.
Function find_symbol(const MappedFile& file, std::uintptr_t address, unsigned type) noexcept {
  const auto* header = file.at<ElfW(Ehdr)>(0);
  if (header == nullptr || ::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return {};
  const auto* sections = file.at<ElfW(Shdr)>(header->e_shoff, header->e_shnum);
  if (sections == nullptr) return {};
  for (std::size_t i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type != SHT_SYMTAB || sections[i].sh_link >= header->e_shnum) continue;
    const std::size_t count = sections[i].sh_size / sizeof(ElfW(Sym));
    const auto* symbols = file.at<ElfW(Sym)>(sections[i].sh_offset, count);
    const ElfW(Shdr)& strings = sections[sections[i].sh_link];
    const char* names = file.at<char>(strings.sh_offset, strings.sh_size);
    if (symbols == nullptr || names == nullptr) return {};
    for (std::size_t k = 0; k < count; ++k) {
      if (ELF64_ST_TYPE(symbols[k].st_info) != type || symbols[k].st_name >= strings.sh_size) continue;
      if (address - symbols[k].st_value < symbols[k].st_size) {
        return {names + symbols[k].st_name, address - symbols[k].st_value};
      }
    }
  }
  return {};
}

}  // namespace

bool is_code(std::uintptr_t address) noexcept {
  Dl_info information;
  return ::dladdr(reinterpret_cast<void*>(address), &information) != 0;
}

void append_code_location(CrashText& text, std::uintptr_t address) noexcept {
  Dl_info information;
  link_map* object = nullptr;
  if (::dladdr1(reinterpret_cast<void*>(address), &information, reinterpret_cast<void**>(&object),
                RTLD_DL_LINKMAP) == 0 ||
      object == nullptr) {
    text << "no code";
    return;
  }
  const std::uintptr_t in_file = address - object->l_addr;
  const bool program = object->l_name == nullptr || object->l_name[0] == '\0';
  const MappedFile file(program ? "/proc/self/exe" : object->l_name);
  Function function = find_symbol(file, in_file, STT_FUNC);
  if (function.name == nullptr && information.dli_sname != nullptr) {
    function = {information.dli_sname, address - reinterpret_cast<std::uintptr_t>(information.dli_saddr)};
  }
  if (function.name != nullptr) {
    (text << function.name << "+").hexadecimal(function.offset) << " (" << information.dli_fname << ")";
  } else {
    (text << information.dli_fname << "+").hexadecimal(in_file);
  }
}

void append_variable(CrashText& text, std::uintptr_t address) noexcept {
  Dl_info information;
  link_map* object = nullptr;
  if (::dladdr1(reinterpret_cast<void*>(address), &information, reinterpret_cast<void**>(&object),
                RTLD_DL_LINKMAP) == 0 ||
      object == nullptr) {
    text << "no variable";
    return;
  }
  const bool program = object->l_name == nullptr || object->l_name[0] == '\0';
  const MappedFile file(program ? "/proc/self/exe" : object->l_name);
  const std::uintptr_t in_file = address - object->l_addr;
  const Function variable = find_symbol(file, in_file, STT_OBJECT);
  (text << (variable.name != nullptr ? variable.name : information.dli_fname) << "+")
      .hexadecimal(variable.name != nullptr ? variable.offset : in_file);
}

}  // namespace musubi::vm
