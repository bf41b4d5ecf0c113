#include "atomics/scan_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "base/hash.h"
#include "os/memory.h"
#include "os/symbol_table.h"
#include "os/system_call.h"

namespace musubi::atomics {
namespace {

// A trampoline farther from a site is out of its reach.
constexpr std::uintptr_t padding_reach = 512;
constexpr std::size_t file_bytes_max = std::size_t{16} << 20;
constexpr std::string_view suffix = ".scan";

// The file: a header, the identity and build in one text, code ranges, sites and padding. Addresses count
// from the first byte of code.
struct Header {
  // Of all that follows; detects damage only, since files of other users are never read.
  std::uint64_t checksum = 0;
  std::uint64_t text_bytes = 0, ranges = 0, sites = 0, paddings = 0;
  std::uint64_t padding_checksum = 0;  // of the code in the padding ranges
  ScanCounts counts;
  std::uint64_t has_spin_loops = 0;
};
struct StoredRange {
  std::uint64_t begin, bytes;
};
static_assert(sizeof(Site) == 32 && std::is_trivially_copyable_v<Site>);

bool is_mine(const struct stat& status) {
  return status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool is_my_folder(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && is_mine(status);
}

// Without readdir, which in a rank is the program's: a directory opened through it is an object of the job.
std::vector<std::string> names_in(const std::string& path) {
  std::vector<std::string> names;
  const os::FileDescriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  alignas(dirent64) char entries[4096];
  while (true) {
    const long bytes =
        os::system_call(SYS_getdents64, folder.number(), os::as_argument(entries), sizeof entries);
    if (bytes <= 0) return names;
    for (long at = 0; at < bytes;) {
      const auto* const entry = reinterpret_cast<const dirent64*>(entries + at);
      names.emplace_back(entry->d_name);
      at += entry->d_reclen;
    }
  }
}

// Empty if it cannot be read, or must not be.
std::vector<char> read_file(const std::string& path) {
  const os::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (file.number() < 0 || ::fstat(file.number(), &status) != 0) return {};
  const auto bytes = static_cast<std::size_t>(status.st_size);
  if (!S_ISREG(status.st_mode) || !is_mine(status) || bytes < sizeof(Header) || bytes > file_bytes_max)
    return {};
  std::vector<char> content(bytes);
  if (::pread(file.number(), content.data(), bytes, 0) != static_cast<ssize_t>(bytes)) return {};
  return content;
}

// Takes values from the front of the bytes read.
class Reader {
 public:
  explicit Reader(std::span<const char> left) : left_(left) {}
  template <class Value>
  std::vector<Value> take(std::uint64_t count) {
    if (count > left_.size() / sizeof(Value)) {
      fits_ = false;
      return {};
    }
    std::vector<Value> values(count);
    if (count != 0) std::memcpy(values.data(), left_.data(), count * sizeof(Value));
    left_ = left_.subspan(count * sizeof(Value));
    return values;
  }
  bool is_whole() const { return fits_ && left_.empty(); }

 private:
  std::span<const char> left_;
  bool fits_ = true;
};

template <class Value>
void append(std::vector<char>& content, const Value* values, std::size_t count) {
  const auto* const bytes = reinterpret_cast<const char*>(values);
  content.insert(content.end(), bytes, bytes + count * sizeof(Value));
}

bool lies_in(std::uintptr_t begin, std::size_t bytes, const std::vector<CodeRange>& code) {
  return std::ranges::any_of(code, [&](const CodeRange& range) {
    return begin >= range.begin && begin - range.begin <= range.bytes &&
           bytes <= range.bytes - (begin - range.begin);
  });
}

std::uintptr_t base_of(const std::vector<CodeRange>& code) {
  return std::ranges::min(code, {}, &CodeRange::begin).begin;
}

std::vector<StoredRange> relative(const std::vector<CodeRange>& ranges, std::uintptr_t base) {
  std::vector<StoredRange> result;
  for (const CodeRange& range : ranges) result.push_back({range.begin - base, range.bytes});
  return result;
}

std::uint64_t hash_of_code(const std::vector<CodeRange>& ranges) {
  std::uint64_t hash = 0;
  for (const CodeRange& range : ranges) {
    hash = fnv_hash(reinterpret_cast<const void*>(range.begin), range.bytes, hash);
  }
  return hash;
}

// Whether the site is sound and its code unchanged.
bool is_there(const Site& site, const std::vector<CodeRange>& code) {
  return site.kind <= SiteKind::fence && site.bytes != 0 && site.bytes <= site.code_bytes &&
         site.code_bytes <= Site::code_bytes_max && lies_in(site.address, site.code_bytes, code) &&
         std::memcmp(reinterpret_cast<const void*>(site.address), site.code.data(), site.code_bytes) == 0;
}

// Both ascending.
std::vector<CodeRange> near_sites(const std::vector<CodeRange>& padding, const std::vector<Site>& sites) {
  std::vector<CodeRange> result;
  auto site = sites.begin();
  for (const CodeRange& range : padding) {
    while (site != sites.end() && site->address + padding_reach < range.begin) ++site;
    if (site == sites.end()) break;
    if (site->address < range.begin + range.bytes + padding_reach) result.push_back(range);
  }
  return result;
}

std::string text_of(const std::string& identity, const std::string& build) {
  return std::to_string(identity.size()) + ":" + identity + build;
}

bool write_file(const std::string& path, const std::vector<char>& content) {
  const std::string other_name = path + "." + std::to_string(::getpid());
  {
    const os::FileDescriptor file(::open(other_name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (file.number() < 0) return false;
    if (::write(file.number(), content.data(), content.size()) != static_cast<ssize_t>(content.size())) {
      ::unlink(other_name.c_str());
      return false;
    }
  }
  if (::rename(other_name.c_str(), path.c_str()) == 0) return true;
  ::unlink(other_name.c_str());
  return false;
}

}  // namespace

std::string identity_of(const dl_phdr_info& object, const std::string& path) {
  for (unsigned i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object.dlpi_phdr[i];
    if (part.p_type != PT_NOTE) continue;
    const auto* const notes = reinterpret_cast<const char*>(object.dlpi_addr + part.p_vaddr);
    if (std::string id = os::build_id(notes, notes + part.p_memsz); !id.empty()) return "build " + id;
  }
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  std::string identity = "file " + path;
  for (const auto number : {static_cast<long>(status.st_size), static_cast<long>(status.st_mtim.tv_sec),
                            static_cast<long>(status.st_mtim.tv_nsec), static_cast<long>(status.st_ino),
                            static_cast<long>(status.st_dev)}) {
    identity += " " + std::to_string(number);
  }
  return identity;
}

std::string ScanCache::usual_folder() {
  if (const char* const cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && cache[0] == '/')
    return std::string(cache) + "/musubi";
  const char* const home = std::getenv("HOME");
  return home != nullptr && home[0] == '/' ? std::string(home) + "/.cache/musubi" : std::string();
}

std::string ScanCache::path_of(const std::string& identity) const {
  const std::string text = text_of(identity, build_);
  char name[40];
  std::snprintf(name, sizeof name, "/%016lx%016lx",
                static_cast<unsigned long>(fnv_hash(text.data(), text.size())),
                static_cast<unsigned long>(fnv_hash(text.data(), text.size(), 1)));
  return folder_ + name + std::string(suffix);
}

std::optional<ObjectScan> ScanCache::find(const std::string& identity,
                                          const std::vector<CodeRange>& code) const {
  if (folder_.empty() || identity.empty() || code.empty() || !is_my_folder(folder_)) return std::nullopt;
  const std::vector<char> content = read_file(path_of(identity));
  if (content.empty()) return std::nullopt;
  Header header;
  std::memcpy(&header, content.data(), sizeof header);
  const auto rest = std::span(content).subspan(sizeof header.checksum);
  Reader reader{std::span<const char>(content).subspan(sizeof header)};
  const auto text = reader.take<char>(header.text_bytes);
  const auto ranges = reader.take<StoredRange>(header.ranges);
  auto sites = reader.take<Site>(header.sites);
  const auto paddings = reader.take<StoredRange>(header.paddings);
  const std::uintptr_t base = base_of(code);
  const auto same = [](const StoredRange& a, const StoredRange& b) {
    return a.begin == b.begin && a.bytes == b.bytes;
  };
  if (!reader.is_whole() || fnv_hash(rest.data(), rest.size()) != header.checksum ||
      std::string_view(text.data(), text.size()) != text_of(identity, build_) ||
      !std::ranges::equal(ranges, relative(code, base), same)) {
    return std::nullopt;
  }
  ObjectScan found;
  for (Site& site : sites) {
    site.address += base;
    if (!is_there(site, code)) return std::nullopt;
  }
  found.scan.sites = std::move(sites);
  for (const StoredRange& kept : paddings) {
    if (!lies_in(base + kept.begin, kept.bytes, code)) return std::nullopt;
    found.scan.padding.push_back({base + kept.begin, kept.bytes});
  }
  if (hash_of_code(found.scan.padding) != header.padding_checksum) return std::nullopt;
  static_cast<ScanCounts&>(found.scan) = header.counts;
  found.has_spin_loops = header.has_spin_loops != 0;
  return found;
}

void ScanCache::keep(const std::string& identity, const std::vector<CodeRange>& code,
                     const ObjectScan& found) const {
  if (folder_.empty() || identity.empty() || code.empty()) return;
  ::mkdir(folder_.substr(0, folder_.rfind('/')).c_str(), 0700);
  ::mkdir(folder_.c_str(), 0700);
  if (!is_my_folder(folder_)) return;
  const std::uintptr_t base = base_of(code);
  const std::string text = text_of(identity, build_);
  const std::vector<StoredRange> ranges = relative(code, base);
  std::vector<Site> sites = found.scan.sites;
  for (Site& site : sites) site.address -= base;
  const std::vector<CodeRange> padding = near_sites(found.scan.padding, found.scan.sites);
  const std::vector<StoredRange> paddings = relative(padding, base);
  Header header;
  header.text_bytes = text.size();
  header.ranges = ranges.size();
  header.sites = sites.size();
  header.paddings = paddings.size();
  header.padding_checksum = hash_of_code(padding);
  header.counts = found.scan;
  header.has_spin_loops = found.has_spin_loops ? 1 : 0;
  std::vector<char> content;
  append(content, &header, 1);
  append(content, text.data(), text.size());
  append(content, ranges.data(), ranges.size());
  append(content, sites.data(), sites.size());
  append(content, paddings.data(), paddings.size());
  header.checksum =
      fnv_hash(content.data() + sizeof header.checksum, content.size() - sizeof header.checksum);
  std::memcpy(content.data(), &header.checksum, sizeof header.checksum);
  if (content.size() > std::min(file_bytes_max, bytes_max_)) return;
  make_room(content.size());
  write_file(path_of(identity), content);
}

// The oldest go first, including leftovers of interrupted writes.
void ScanCache::make_room(std::size_t bytes) const {
  struct File {
    timespec time;
    std::size_t bytes;
    std::string path;
  };
  std::vector<File> files;
  std::size_t total = bytes;
  for (const std::string& name : names_in(folder_)) {
    struct stat status {};
    std::string path = folder_ + "/" + name;
    if (name.find(suffix) == std::string::npos || ::lstat(path.c_str(), &status) != 0) continue;
    total += static_cast<std::size_t>(status.st_size);
    files.push_back({status.st_mtim, static_cast<std::size_t>(status.st_size), std::move(path)});
  }
  std::ranges::sort(files, [](const File& a, const File& b) {
    return a.time.tv_sec != b.time.tv_sec ? a.time.tv_sec < b.time.tv_sec : a.time.tv_nsec < b.time.tv_nsec;
  });
  for (auto file = files.begin(); total > bytes_max_ && file != files.end(); ++file) {
    if (::unlink(file->path.c_str()) == 0) total -= file->bytes;
  }
}

}  // namespace musubi::atomics
