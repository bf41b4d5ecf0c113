#include "image/objects/locales.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "base/check.h"
#include "heap/heap.h"
#include "image/process/real_function.h"
#include "os/memory.h"
#include "os/system_call.h"

namespace musubi::image {
namespace {

constexpr int category_count = 13;
constexpr char end_of_name = '\n';
constexpr std::uintptr_t page = 4096;
constexpr long error_numbers_max = 4095;

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(next_definition(name));
}

locale_t make_real(int mask, const char* name, locale_t base) {
  return next<locale_t (*)(int, const char*, locale_t)>("newlocale")(mask, name, base);
}
void free_real(locale_t locale) {
  next<void (*)(locale_t)>("freelocale")(locale);
}

bool has_category(int category) {
  return category != LC_ALL;
}

std::string names_of(locale_t locale) {
  std::string names;
  for (int category = 0; category < category_count; ++category) {
    if (has_category(category)) names += std::string(locale->__names[category]) + end_of_name;
  }
  return names;
}

}  // namespace

constinit thread_local Locales* Locales::loading_ = nullptr;

Result<void> Locales::start(runtime::Runtime& runtime) {
  if (runtime.ranks() == 1) return {};
  runtime_ = &runtime;
  calls_.start(runtime, procedures::locales, *this);
  auto objects = os::Mapping::at(reinterpret_cast<void*>(objects_base), objects_max * object_bytes,
                                 os::Protection::read_write);
  if (!objects) return objects.error();
  objects.value().release();
  return replace_map_function();
}

// The C library maps locale files through its own mmap, whose code now jumps to Locales::map.
Result<void> Locales::replace_map_function() {
  std::uint8_t jump[] = {0xff, 0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};  // jmp to the address that follows
  const auto target = reinterpret_cast<std::uintptr_t>(&Locales::map);
  std::memcpy(jump + sizeof jump - sizeof target, &target, sizeof target);
  auto* const code = static_cast<std::uint8_t*>(next_definition("mmap"));
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(code) & ~(page - 1);
  auto* const pages = reinterpret_cast<void*>(begin);
  const std::size_t bytes = reinterpret_cast<std::uintptr_t>(code) + sizeof jump - begin;
  if (::mprotect(pages, bytes, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
    return Error{"the C library's code cannot be changed: allow writable code (SELinux: execmod)"};
  std::memcpy(code, jump, sizeof jump);
  ::mprotect(pages, bytes, PROT_READ | PROT_EXEC);
  return {};
}

void* Locales::map(void* address, std::size_t bytes, int protection, int flags, int file, long offset) {
  if (loading_ != nullptr && address == nullptr && file >= 0 && (protection & PROT_WRITE) == 0) {
    const std::uintptr_t place = loading_->place_of(file, bytes, static_cast<std::uint64_t>(offset));
    if (place != 0) {
      address = reinterpret_cast<void*>(place);
      flags |= MAP_FIXED;
    }
  }
  const long result = os::system_call(SYS_mmap, reinterpret_cast<long>(address), static_cast<long>(bytes),
                                      protection, flags, file, offset);
  if (result >= 0 || result < -error_numbers_max) return reinterpret_cast<void*>(result);
  errno = static_cast<int>(-result);
  return MAP_FAILED;
}

// Keyed by path, because device and inode differ between hosts. 0: there is no address for it.
std::uintptr_t Locales::place_of(int file, std::size_t bytes, std::uint64_t offset) {
  char path[PATH_MAX];
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  const long length = os::system_call(SYS_readlink, reinterpret_cast<long>(link.c_str()),
                                      reinterpret_cast<long>(path), sizeof path);
  if (length <= 0 || offset + bytes > file_bytes) return 0;
  const std::uint32_t number =
      number_of<&Locales::number_file>(files_, std::string(path, static_cast<std::size_t>(length)));
  return number < files_max ? files_base + number * file_bytes + offset : 0;
}

std::uint32_t Locales::assign_number(Numbers& numbers, std::string_view name) {
  const std::lock_guard guard(lock_);
  return numbers.emplace(name, static_cast<std::uint32_t>(numbers.size())).first->second;
}

template <auto function>
std::uint32_t Locales::number_of(Numbers& numbers, const std::string& name) {
  {
    const std::lock_guard guard(lock_);
    if (const auto known = numbers.find(name); known != numbers.end()) return known->second;
  }
  const std::int64_t number = calls_.at<function>(Rank{0}, name);
  if (number < 0) return UINT32_MAX;
  const std::lock_guard guard(lock_);
  return numbers.emplace(name, static_cast<std::uint32_t>(number)).first->second;
}

locale_t Locales::of_job(locale_t made) {
  const std::string names = names_of(made);
  // The C locale is a constant of the C library.
  if (names.find_first_not_of("C\n") == std::string::npos) return made;
  const std::uint32_t number = number_of<&Locales::number_object>(objects_, names);
  if (number >= objects_max) return made;
  bool is_made;
  {
    const std::lock_guard guard(lock_);
    is_made = made_[number];
  }
  if (is_made) {
    free_real(made);
  } else {
    calls_.at_others<&Locales::make>(number, names);
    put(number, made);
  }
  return reinterpret_cast<locale_t>(objects_base + number * object_bytes);
}

const char* Locales::kept_name(const std::string& name) {
  {
    const std::lock_guard guard(lock_);
    if (const auto kept = names_.find(name); kept != names_.end()) return kept->second;
  }
  auto* const text = static_cast<char*>(heap::process_heap.allocate_shared(name.size() + 1));
  if (text == nullptr) return nullptr;
  std::memcpy(text, name.c_str(), name.size() + 1);
  const std::lock_guard guard(lock_);
  return names_.emplace(name, text).first->second;
}

void Locales::make(std::uint32_t number, std::string_view names) {
  const Loading loading(*this);
  locale_t made = make_real(LC_ALL_MASK, "C", nullptr);
  std::size_t begin = 0;
  for (int category = 0; category < category_count; ++category) {
    if (!has_category(category)) continue;
    const std::size_t end = names.find(end_of_name, begin);
    MUSUBI_CHECK(end != std::string::npos);
    const std::string name(names.substr(begin, end - begin));
    begin = end + 1;
    if (const locale_t more = make_real(1 << category, name.c_str(), made)) made = more;
  }
  put(number, made);
}

// The C library's object is never freed: its parts are in use from now on.
void Locales::put(std::uint32_t number, locale_t made) {
  static_assert(sizeof *made <= object_bytes);
  const std::lock_guard guard(lock_);
  if (made_[number]) return;
  std::memcpy(reinterpret_cast<void*>(objects_base + number * object_bytes), made, sizeof *made);
  made_[number] = true;
}

}  // namespace musubi::image
