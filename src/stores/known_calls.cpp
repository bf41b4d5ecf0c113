#include "stores/known_calls.h"

#include <algorithm>
#include <iterator>

namespace musubi::stores {
namespace {

// Functions that end the process, or leave the thread's control flow.
constexpr std::string_view ends[] = {"exit",
                                     "_exit",
                                     "_Exit",
                                     "quick_exit",
                                     "abort",
                                     "__assert_fail",
                                     "__assert",
                                     "__stack_chk_fail",
                                     "_ZSt9terminatev",
                                     "__chk_fail",
                                     "__fortify_fail",
                                     "_gfortran_stop_string",
                                     "_gfortran_stop_numeric",
                                     "_gfortran_error_stop_string",
                                     "_gfortran_error_stop_numeric"};

constexpr std::string_view writes_nothing[] = {
    "realloc", "reallocarray", "free", "cfree", "malloc_usable_size",
    // Times and random numbers as results; their state is the library's.
    "clock", "sleep", "usleep", "difftime", "rand", "srand", "random", "srandom", "drand48", "lrand48",
    "mrand48", "srand48",
    // Output to streams: the library owns their buffers, and one rank keeps each.
    "printf", "fprintf", "vprintf", "vfprintf", "puts", "fputs", "fputc", "putc", "putchar", "_IO_putc",
    "fwrite", "fflush", "perror", "__printf_chk", "__fprintf_chk", "__vprintf_chk", "__vfprintf_chk", "write",
    // Functions that only read the program's memory.
    "strlen", "strnlen", "strcmp", "strncmp", "strcasecmp", "strncasecmp", "strchr", "strrchr", "strstr",
    "strspn", "strcspn", "strpbrk", "memcmp", "bcmp", "memchr", "atoi", "atol", "atoll", "atof", "abs",
    "labs", "llabs", "getenv", "secure_getenv", "isalpha", "isdigit", "isalnum", "isspace", "tolower",
    "toupper", "__ctype_b_loc", "__ctype_tolower_loc", "__ctype_toupper_loc",
    // The calling thread and its process.
    "__errno_location", "__tls_get_addr", "sched_yield", "sched_getcpu", "getpid", "gettid", "pthread_self",
    "sysconf"};

// Times, locks, seeds.
constexpr std::string_view writes_words[] = {"time",
                                             "clock_gettime",
                                             "clock_getres",
                                             "gettimeofday",
                                             "nanosleep",
                                             "rand_r",
                                             "pthread_mutex_lock",
                                             "pthread_mutex_trylock",
                                             "pthread_mutex_unlock",
                                             "pthread_spin_lock",
                                             "pthread_spin_trylock",
                                             "pthread_spin_unlock"};

// Functions that write only to their first argument's target.
constexpr std::string_view writes_first[] = {
    "memcpy",       "memmove",       "memset",        "bzero",          "strcpy",         "strncpy",
    "strcat",       "strncat",       "stpcpy",        "sprintf",        "snprintf",       "vsprintf",
    "vsnprintf",    "__memcpy_chk",  "__memmove_chk", "__memset_chk",   "__strcpy_chk",   "__strncpy_chk",
    "__strcat_chk", "__strncat_chk", "__sprintf_chk", "__snprintf_chk", "posix_memalign", "fegetexceptflag"};

// Functions of numbers with a second result, for all widths and for vectors; functions of the processor's
// flags.
constexpr std::string_view with_second_result[] = {"sincos", "modf", "frexp",  "remquo",  "lgamma",
                                                   "gamma",  "_ZGV", "fehold", "fegetenv"};

// operator new and delete in all their forms.
constexpr std::string_view of_new[] = {"_Znw", "_Zna"}, of_delete[] = {"_Zdl", "_Zda"};
constexpr std::string_view allocates[] = {"malloc", "calloc", "aligned_alloc", "memalign", "valloc"};

// Our own functions. Some of them write numbers and locks.
constexpr std::string_view of_openmp[] = {"GOMP_",      "__kmpc_",     "omp_get_",    "omp_set_",
                                          "omp_in_",    "omp_is_",     "omp_alloc",   "omp_free",
                                          "omp_calloc", "omp_realloc", "omp_aligned_"};
constexpr std::string_view of_openmp_with_results[] = {"__kmpc_for_static_init", "__kmpc_dispatch_next"};
constexpr std::string_view of_openmp_writing_words[] = {"__kmpc_dist_for_static_init",
                                                        "omp_get_schedule",
                                                        "omp_get_partition_place_nums",
                                                        "omp_get_place_proc_ids",
                                                        "omp_set_lock",
                                                        "omp_set_nest_lock",
                                                        "omp_init_",
                                                        "omp_test_",
                                                        "omp_unset_",
                                                        "omp_destroy_"};

// Functions that copy memory of the caller's choice, or write strings.
constexpr std::string_view copying[] = {
    "GOMP_target",           "__kmpc_copyprivate",   "__kmpc_reduce",           "__kmpc_atomic_",
    "__kmpc_task_reduction", "__kmpc_end_taskgroup", "omp_get_affinity_format", "omp_set_affinity_format"};

bool is_one_of(std::string_view name, const auto& list) {
  return std::ranges::find(list, name) != std::end(list);
}
bool starts_with_any(std::string_view name, const auto& list) {
  return std::ranges::any_of(list, [name](std::string_view start) { return name.starts_with(start); });
}

}  // namespace

KnownCall known_call(std::string_view name) noexcept {
  if (is_one_of(name, ends)) return KnownCall::ends;
  if (is_one_of(name, writes_nothing) || starts_with_any(name, of_delete)) return KnownCall::writes_nothing;
  if (is_one_of(name, allocates) || starts_with_any(name, of_new)) return KnownCall::allocates;
  if (starts_with_any(name, copying)) return KnownCall::unknown;
  if (starts_with_any(name, of_openmp_with_results)) return KnownCall::gives_results;
  if (is_one_of(name, writes_first)) return KnownCall::writes_first;
  if (is_one_of(name, writes_words) || starts_with_any(name, with_second_result) ||
      starts_with_any(name, of_openmp_writing_words))
    return KnownCall::writes_words;
  return starts_with_any(name, of_openmp) ? KnownCall::writes_nothing : KnownCall::unknown;
}

}  // namespace musubi::stores
