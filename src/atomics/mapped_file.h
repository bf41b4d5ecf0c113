// The contents of an ELF file, for readers that trust none of its offsets.
#pragma once

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace musubi::atomics {

using Sections = std::span<const ElfW(Shdr)>;

class MappedFile {
 public:
  explicit MappedFile(const char* path) {
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (file < 0) return;
    is_open_ = true;
    if (::fstat(file, &status) == 0 && status.st_size > 0) {
      void* const memory =
          ::mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
      if (memory != MAP_FAILED) bytes_ = {static_cast<const char*>(memory), std::size_t(status.st_size)};
    }
    ::close(file);
  }
  ~MappedFile() {
    if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // False: errno says why, right after the construction.
  bool is_open() const { return is_open_; }
  std::size_t bytes() const { return bytes_.size(); }
  // Null: not an ELF file.
  const ElfW(Ehdr) * header() const {
    const auto header = at<ElfW(Ehdr)>(0, 1);
    return header.empty() || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0 ? nullptr : header.data();
  }
  // Empty if there are none, or they cannot be read.
  Sections sections() const {
    const ElfW(Ehdr)* const found = header();
    if (found == nullptr || found->e_shoff == 0 || found->e_shentsize != sizeof(ElfW(Shdr))) return {};
    return at<ElfW(Shdr)>(found->e_shoff, found->e_shnum);
  }
  // Of a section of `all`, which are those of the file. Empty if the file does not name it.
  std::string_view name_of(Sections all, const ElfW(Shdr) & section) const {
    const unsigned names = header()->e_shstrndx;
    if (names >= all.size() || section.sh_name >= all[names].sh_size) return {};
    const auto text = at<char>(all[names].sh_offset + section.sh_name, all[names].sh_size - section.sh_name);
    return {text.data(), ::strnlen(text.data(), text.size())};
  }

  // Empty if they are not all in the file.
  template <class T>
  std::span<const T> at(std::uint64_t offset, std::uint64_t count) const {
    if (offset > bytes_.size() || count > (bytes_.size() - offset) / sizeof(T)) return {};
    return {reinterpret_cast<const T*>(bytes_.data() + offset), count};
  }

 private:
  std::span<const char> bytes_;
  bool is_open_ = false;
};

}  // namespace musubi::atomics
