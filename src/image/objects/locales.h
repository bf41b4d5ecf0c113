// Locales that one thread makes and other threads use. The C library keeps a locale in private memory: an
// object, and mapped files with the texts and tables that facets, `nl_langinfo` and `wctype` point to. Here
// an object has an address that is the same on all ranks, each rank fills it with locales of the same names,
// and mapped files have the same addresses everywhere. Locales are never freed; equal names share one locale.
#pragma once

#include <locale.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "base/result.h"
#include "image/process/owner_calls.h"
#include "runtime/api/runtime.h"

namespace musubi::image {

class Locales {
 public:
  // Collective, before the program runs. Errors: addresses in use, or code that cannot be changed.
  Result<void> start(runtime::Runtime& runtime);

  // The locale of the job with the names of `made`, which the C library has made for the caller and which
  // this call consumes. `made` itself if there are too many. Attached threads.
  locale_t of_job(locale_t made);
  // A copy of the name in shared memory. Equal names share one copy.
  const char* kept_name(const std::string& name);
  static bool contains(const void* locale) noexcept {
    return reinterpret_cast<std::uintptr_t>(locale) - objects_base < objects_max * object_bytes;
  }

  // While one exists, locale files that the C library maps on this thread get the job's addresses.
  class Loading {
   public:
    explicit Loading(Locales& locales) noexcept : before_(loading_) { loading_ = &locales; }
    ~Loading() { loading_ = before_; }
    Loading(const Loading&) = delete;

   private:
    Locales* const before_;
  };

 private:
  // Below the shared space, above the streams; the kernel chooses no address there.
  static constexpr std::uintptr_t objects_base = 0x0f80'0000'0000;
  static constexpr std::size_t object_bytes = 256;
  static constexpr std::size_t objects_max = 4096;
  static constexpr std::uintptr_t files_base = 0x0f90'0000'0000;
  static constexpr std::size_t file_bytes = std::size_t{1} << 28;
  static constexpr std::size_t files_max = 1024;

  using Numbers = std::map<std::string, std::uint32_t>;

  static void* map(void* address, std::size_t bytes, int protection, int flags, int file, long offset);
  static Result<void> replace_map_function();
  std::uintptr_t place_of(int file, std::size_t bytes, std::uint64_t offset);
  // At rank 0, which assigns numbers, from 0 on.
  std::uint32_t number_object(std::string_view names) { return assign_number(objects_, names); }
  std::uint32_t number_file(std::string_view path) { return assign_number(files_, path); }
  std::uint32_t assign_number(Numbers& numbers, std::string_view name);
  // The number that rank 0 has assigned by `function`; UINT32_MAX: the name is too long.
  template <auto function>
  std::uint32_t number_of(Numbers& numbers, const std::string& name);
  // At the ranks that did not make the locale. Categories that this host does not have stay those of C.
  void make(std::uint32_t number, std::string_view names);
  void put(std::uint32_t number, locale_t made);

  static constinit thread_local Locales* loading_;

  runtime::Runtime* runtime_ = nullptr;
  std::mutex lock_;
  Numbers objects_, files_;  // all at rank 0; on other ranks those that this rank has asked for
  bool made_[objects_max] = {};
  std::map<std::string, char*> names_;
  OwnerCalls<&Locales::number_object, &Locales::number_file, &Locales::make> calls_;
};

}  // namespace musubi::image
