// Locales as objects of the program (image/objects/locales.h), which libstdc++ makes by the same functions,
// and conversions between character sets (iconv). The C library keeps a conversion in private memory. The
// program's handle is an object in shared memory that names the sets, and each rank that uses it opens a
// conversion of its own. With a stateful set, the rank that began a text must continue it.
#include <iconv.h>
#include <locale.h>
#include <string.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <map>
#include <mutex>

#include "heap/heap.h"
#include "image/start/job.h"
#include "image/symbols/exported.h"

namespace {

using musubi::heap::process_heap;
using namespace musubi::image;

constinit Next<iconv_t (*)(const char*, const char*)> next_open("iconv_open");
constinit Next<std::size_t (*)(iconv_t, char**, std::size_t*, char**, std::size_t*)> next_convert("iconv");
constinit Next<int (*)(iconv_t)> next_close("iconv_close");

const iconv_t no_conversion = reinterpret_cast<iconv_t>(-1);
constexpr unsigned rank_shift = 48;

// A handle points to it. Numbers are unique, even if memory is reused.
struct Conversion {
  std::uint64_t number;
  std::size_t to_bytes;
  char names[];  // to, from
};

// The conversions that this rank has opened.
class OwnConversions {
 public:
  // Opens the conversion if this rank has not yet. Null: it cannot be opened here.
  iconv_t of(const Conversion& conversion) {
    const std::lock_guard guard(lock_);
    Own& own = opened_[&conversion];
    if (own.number == conversion.number) return own.conversion;
    if (own.number != 0) next_close.get()(own.conversion);
    own = {conversion.number, next_open.get()(conversion.names, conversion.names + conversion.to_bytes)};
    const iconv_t opened = own.conversion;
    if (opened == no_conversion) opened_.erase(&conversion);
    return opened;
  }
  void add(const Conversion& conversion, iconv_t opened) {
    const std::lock_guard guard(lock_);
    Own& own = opened_[&conversion];
    if (own.number != 0) next_close.get()(own.conversion);
    own = {conversion.number, opened};
  }
  void close(const Conversion& conversion) {
    const std::lock_guard guard(lock_);
    const auto own = opened_.find(&conversion);
    if (own == opened_.end()) return;
    next_close.get()(own->second.conversion);
    opened_.erase(own);
  }

 private:
  struct Own {
    std::uint64_t number = 0;
    iconv_t conversion = nullptr;
  };
  std::mutex lock_;
  std::map<const Conversion*, Own> opened_;
};

OwnConversions& own_conversions() {
  static auto& conversions = *new OwnConversions;
  return conversions;
}

bool is_of_job(iconv_t handle) {
  return process_heap.is_shared(handle);
}

}  // namespace

MUSUBI_WRAPPER(iconv_t, iconv_open, (const char* to, const char* from)) {
  const iconv_t opened = next_open.get()(to, from);
  const Job* const job = job_of_ranks();
  if (opened == no_conversion || job == nullptr) return opened;
  static constinit std::atomic<std::uint64_t> count{0};
  const std::size_t to_bytes = ::strlen(to) + 1, from_bytes = ::strlen(from) + 1;
  auto* const made =
      static_cast<Conversion*>(process_heap.allocate_shared(sizeof(Conversion) + to_bytes + from_bytes));
  if (made == nullptr) {
    next_close.get()(opened);
    errno = ENOMEM;
    return no_conversion;
  }
  made->number = std::uint64_t{job->runtime.self().value} << rank_shift | (count.fetch_add(1) + 1);
  made->to_bytes = to_bytes;
  ::memcpy(made->names, to, to_bytes);
  ::memcpy(made->names + to_bytes, from, from_bytes);
  own_conversions().add(*made, opened);
  return made;
}

MUSUBI_WRAPPER(std::size_t, iconv,
               (iconv_t handle, char** in, std::size_t* in_left, char** out, std::size_t* out_left)) {
  if (!is_of_job(handle)) return next_convert.get()(handle, in, in_left, out, out_left);
  const iconv_t own = own_conversions().of(*static_cast<const Conversion*>(handle));
  if (own == no_conversion) return static_cast<std::size_t>(-1);
  return next_convert.get()(own, in, in_left, out, out_left);
}

MUSUBI_WRAPPER(int, iconv_close, (iconv_t handle)) {
  if (!is_of_job(handle)) return next_close.get()(handle);
  own_conversions().close(*static_cast<const Conversion*>(handle));
  process_heap.release(handle);
  return 0;
}

namespace {

constinit Next<locale_t (*)(int, const char*, locale_t)> next_new("newlocale");
constinit Next<locale_t (*)(locale_t)> next_copy("duplocale");
constinit Next<void (*)(locale_t)> next_free("freelocale");

Locales* locales() {
  Job* const job = job_of_ranks();
  return job != nullptr ? &job->locales : nullptr;
}

}  // namespace

// Consumes `base` on success; always makes a new object.
MUSUBI_EXPORT locale_t newlocale(int mask, const char* name, locale_t base) noexcept {
  Locales* const kept = locales();
  if (kept == nullptr) return next_new.get()(mask, name, base);
  const Locales::Loading loading(*kept);
  const locale_t copy = base == nullptr ? nullptr : next_copy.get()(base);
  const locale_t made = next_new.get()(mask, name, copy);
  if (made != nullptr) return kept->of_job(made);
  if (copy != nullptr) next_free.get()(copy);
  return nullptr;
}

MUSUBI_EXPORT locale_t duplocale(locale_t locale) noexcept {
  if (Locales::contains(locale)) return locale;
  Locales* const kept = locales();
  const locale_t copy = next_copy.get()(locale);
  return copy == nullptr || kept == nullptr ? copy : kept->of_job(copy);
}

MUSUBI_EXPORT void freelocale(locale_t locale) noexcept {
  if (!Locales::contains(locale)) next_free.get()(locale);
}
