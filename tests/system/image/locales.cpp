// Locales that one thread makes and all use: objects of C with their tables and texts, named ones of C++ with
// their facets, and the results of setlocale and nl_langinfo.
#include <iconv.h>
#include <langinfo.h>
#include <locale.h>
#include <omp.h>
#include <wctype.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <locale>
#include <sstream>
#include <string>

#include "check.h"

static bool is_last() {
  return omp_get_thread_num() == omp_get_num_threads() - 1;
}

static bool serves(locale_t locale, wctype_t upper) {
  return towupper_l(0xe4, locale) == 0xc4 && iswctype_l(0xc4, upper, locale) && isalpha_l('a', locale) &&
         toupper_l('q', locale) == 'Q' && std::strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") == 0 &&
         std::strcmp(nl_langinfo_l(DAY_1, locale), "Sunday") == 0;
}

static void share_objects_of_c() {
  const locale_t made = newlocale(LC_ALL_MASK, "C.UTF-8", nullptr);
  CHECK(made != nullptr);
  const wctype_t upper = wctype_l("upper", made);
  const char* const day = nl_langinfo_l(DAY_2, made);
  int right = 0;
#pragma omp parallel reduction(+ : right)
  {
    const locale_t before = uselocale(made);
    right += serves(made, upper) && std::strcmp(day, "Monday") == 0 && towupper(0xe4) == 0xc4;
    uselocale(before);
    const locale_t copy = duplocale(made);
    right += serves(copy, upper);
    freelocale(copy);
  }
  CHECK(right == 2 * omp_get_max_threads());
  // Made by another thread, of parts, used by main.
  locale_t parts = nullptr;
#pragma omp parallel
  if (is_last()) parts = newlocale(LC_CTYPE_MASK, "C.UTF-8", newlocale(LC_ALL_MASK, "C", nullptr));
  CHECK(parts != nullptr && towupper_l(0xe4, parts) == 0xc4);
  CHECK(std::strcmp(nl_langinfo_l(DAY_1, parts), "Sunday") == 0);
  CHECK(newlocale(LC_ALL_MASK, "no such locale", parts) == nullptr && towupper_l(0xe4, parts) == 0xc4);
  freelocale(parts);
  freelocale(made);
}

static void share_objects_of_cpp() {
  const std::locale named("C.UTF-8");
  const std::locale mixed(std::locale::classic(), named, std::locale::ctype);
  int right = 0;
#pragma omp parallel reduction(+ : right)
  {
    std::wostringstream out;
    out.imbue(named);
    std::tm moment{};
    moment.tm_wday = 3;
    out << 1234567 << L' ' << 2.5;
    std::use_facet<std::time_put<wchar_t>>(named).put(out, out, L' ', &moment, 'A');
    right += out.str() == L"1234567 2.5Wednesday";
    right +=
        std::toupper(L'\xe4', named) == L'\xc4' && std::isupper(L'\xc4', mixed) && std::isalpha('a', named);
    right += std::use_facet<std::collate<char>>(named).compare("a", "a" + 1, "b", "b" + 1) < 0;
    const std::locale copy = named;
    std::istringstream in("17 x");
    in.imbue(copy);
    int number = 0;
    right += (in >> number) && number == 17 && copy.name() == named.name();
  }
  CHECK(right == 4 * omp_get_max_threads());
}

static void share_names() {
  const char* name = nullptr;
#pragma omp parallel
  if (is_last()) name = setlocale(LC_ALL, "C.UTF-8");
  CHECK(name != nullptr && std::strcmp(name, "C.UTF-8") == 0);
  const char* const day = nl_langinfo(DAY_3);
  const wctype_t lower = wctype("lower");
  int right = 0;
#pragma omp parallel reduction(+ : right)
  right += std::strcmp(name, setlocale(LC_CTYPE, nullptr)) == 0 && std::strcmp(day, "Tuesday") == 0 &&
           iswctype(0xe4, lower) && std::strcmp(localeconv()->decimal_point, ".") == 0;
  CHECK(right == omp_get_max_threads());
}

static bool converts(iconv_t conversion) {
  char latin[] = "\xe4", utf[8] = "";
  char *in = latin, *out = utf;
  std::size_t in_left = 1, out_left = sizeof utf;
  return iconv(conversion, &in, &in_left, &out, &out_left) == 0 && std::strcmp(utf, "\xc3\xa4") == 0;
}

// All threads use main's conversion in turn, and another thread closes it; its memory is used again.
static void share_conversions() {
  for (int round = 0; round < 3; ++round) {
    const iconv_t made = iconv_open("UTF-8", "ISO-8859-1");
    CHECK(made != reinterpret_cast<iconv_t>(-1));
    int right = 0;
#pragma omp parallel reduction(+ : right)
#pragma omp critical
    right += converts(made);
    CHECK(right == omp_get_max_threads());
#pragma omp parallel
    if (is_last()) CHECK(iconv_close(made) == 0);
    const iconv_t other = iconv_open("ISO-8859-1", "UTF-8");
    right = 0;
#pragma omp parallel reduction(+ : right)
#pragma omp critical
    right += !converts(other);
    CHECK(right == omp_get_max_threads() && iconv_close(other) == 0);
  }
  CHECK(iconv_open("no such set", "UTF-8") == reinterpret_cast<iconv_t>(-1) && errno == EINVAL);
}

int main() {
  share_objects_of_c();
  share_objects_of_cpp();
  share_names();
  share_conversions();
  std::printf("locales: passed\n");
}
