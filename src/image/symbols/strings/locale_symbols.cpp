// Locales as objects of the program (image/objects/locales.h). libstdc++ makes its named locales by the same
// functions.
#include <locale.h>

#include "image/start/job.h"
#include "image/symbols/exported.h"
#include "image/symbols/next_function.h"

namespace {

using musubi::image::Job;
using musubi::image::Locales;
using musubi::image::Next;

constinit Next<locale_t (*)(int, const char*, locale_t)> next_new("newlocale");
constinit Next<locale_t (*)(locale_t)> next_copy("duplocale");
constinit Next<void (*)(locale_t)> next_free("freelocale");

Locales* locales() {
  Job* const job = musubi::image::job_of_ranks();
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
