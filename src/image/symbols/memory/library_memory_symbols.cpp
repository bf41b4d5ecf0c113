// Functions of the C library that return memory to the program: trees and tables, argument vectors, lists of
// files. A function that allocates only this memory runs with the C library served from the shared heap. For
// any other function the result is copied, because memory such as a directory's buffer, which the kernel
// writes, must stay private.
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <netdb.h>
#include <search.h>
#include <sys/socket.h>
#include <wordexp.h>

#include <cstring>

#include "heap/heap.h"
#include "image/process/job_words.h"
#include "image/start/job.h"
#include "image/symbols/exported.h"
#include "image/symbols/kernel_access.h"
#include "os/binding.h"

namespace {

using musubi::heap::Heap;
using musubi::heap::process_heap;
using musubi::image::Next;

using Compare = int(const void*, const void*);

// tsearch passes its function no argument of ours.
constinit thread_local Compare* compare_of_program = nullptr;

int compare_outside(const void* one, const void* other) {
  const Heap::LibraryNotServed program;
  return compare_of_program(one, other);
}

// Moves memory of the C library to the shared heap. Null, with the old memory kept, if the heap is full.
void* move_to_shared(void* memory, std::size_t bytes) noexcept {
  if (memory == nullptr || process_heap.is_shared(memory)) return memory;
  void* const copy = process_heap.allocate_shared(bytes);
  if (copy == nullptr) return nullptr;
  std::memcpy(copy, memory, bytes);
  process_heap.release(memory);
  return copy;
}

template <class Glob>
int share_paths(int result, Glob* found) noexcept {
  if (result != 0 || found->gl_pathv == nullptr) return result;
  const std::size_t first = (found->gl_flags & GLOB_DOOFFS) != 0 ? found->gl_offs : 0;
  const std::size_t end = first + found->gl_pathc;
  void* const paths = move_to_shared(found->gl_pathv, (end + 1) * sizeof(char*));
  if (paths == nullptr) return GLOB_NOSPACE;
  found->gl_pathv = static_cast<char**>(paths);
  for (std::size_t i = first; i < end; ++i) {
    char*& path = found->gl_pathv[i];
    void* const shared = move_to_shared(path, std::strlen(path) + 1);
    if (shared == nullptr) return GLOB_NOSPACE;
    path = static_cast<char*>(shared);
  }
  return result;
}

template <class Entry>
int share_entries(int count, Entry*** list) noexcept {
  if (count < 0) return count;
  void* const entries = move_to_shared(*list, (static_cast<std::size_t>(count) + 1) * sizeof(Entry*));
  if (entries == nullptr && *list != nullptr) {
    errno = ENOMEM;
    return -1;
  }
  *list = static_cast<Entry**>(entries);
  for (int i = 0; i < count; ++i) {
    void* const shared = move_to_shared((*list)[i], (*list)[i]->d_reclen);
    if (shared != nullptr) (*list)[i] = static_cast<Entry*>(shared);
  }
  return count;
}

}  // namespace

MUSUBI_EXPORT void* tsearch(const void* key, void** root, Compare* compare) {
  static constinit Next<void* (*)(const void*, void**, Compare*)> next("tsearch");
  Compare* const before = compare_of_program;
  compare_of_program = compare;
  const Heap::LibraryServed library;
  void* const found = next.get()(key, root, compare_outside);
  compare_of_program = before;
  return found;
}

// Result, name, parameters, arguments.
#define MUSUBI_FOR_PROGRAM(result, name, parameters, arguments)             \
  MUSUBI_EXPORT result wrapped_##name parameters __asm__(#name);            \
  result wrapped_##name parameters {                                        \
    static constinit musubi::image::Next<result(*) parameters> next(#name); \
    const Heap::LibraryServed library;                                      \
    return next.get() arguments;                                            \
  }
MUSUBI_FOR_PROGRAM(int, argz_create, (char* const* texts, char** vector, size_t* bytes),
                   (texts, vector, bytes))
MUSUBI_FOR_PROGRAM(int, argz_create_sep, (const char* text, int separator, char** vector, size_t* bytes),
                   (text, separator, vector, bytes))
MUSUBI_FOR_PROGRAM(int, argz_append, (char** vector, size_t* bytes, const char* more, size_t more_bytes),
                   (vector, bytes, more, more_bytes))
MUSUBI_FOR_PROGRAM(int, argz_add, (char** vector, size_t* bytes, const char* text), (vector, bytes, text))
MUSUBI_FOR_PROGRAM(int, argz_add_sep, (char** vector, size_t* bytes, const char* text, int separator),
                   (vector, bytes, text, separator))
MUSUBI_FOR_PROGRAM(int, argz_insert, (char** vector, size_t* bytes, char* before, const char* text),
                   (vector, bytes, before, text))
MUSUBI_FOR_PROGRAM(int, argz_replace,
                   (char** vector, size_t* bytes, const char* text, const char* with, unsigned* count),
                   (vector, bytes, text, with, count))
MUSUBI_FOR_PROGRAM(int, envz_add, (char** vector, size_t* bytes, const char* name, const char* value),
                   (vector, bytes, name, value))
MUSUBI_FOR_PROGRAM(int, hcreate_r, (size_t count, struct hsearch_data* table), (count, table))
MUSUBI_FOR_PROGRAM(char**, backtrace_symbols, (void* const* frames, int count), (frames, count))

MUSUBI_EXPORT int glob(const char* pattern, int flags, int (*on_error)(const char*, int), glob_t* found) {
  static constinit Next<int (*)(const char*, int, int (*)(const char*, int), glob_t*)> next("glob");
  return share_paths(next.get()(pattern, flags, on_error, found), found);
}
MUSUBI_EXPORT int glob64(const char* pattern, int flags, int (*on_error)(const char*, int), glob64_t* found) {
  static constinit Next<int (*)(const char*, int, int (*)(const char*, int), glob64_t*)> next("glob64");
  return share_paths(next.get()(pattern, flags, on_error, found), found);
}

#define MUSUBI_SCAN(name, Entry)                                                                      \
  MUSUBI_EXPORT int wrapped_##name(const char* path, Entry*** list, int (*filter)(const Entry*),      \
                                   int (*order)(const Entry**, const Entry**)) __asm__(#name);        \
  int wrapped_##name(const char* path, Entry*** list, int (*filter)(const Entry*),                    \
                     int (*order)(const Entry**, const Entry**)) {                                    \
    using Scan =                                                                                      \
        int (*)(const char*, Entry***, int (*)(const Entry*), int (*)(const Entry**, const Entry**)); \
    static constinit Next<Scan> next(#name);                                                          \
    return share_entries(next.get()(path, list, filter, order), list);                                \
  }
MUSUBI_SCAN(scandir, struct dirent)
MUSUBI_SCAN(scandir64, struct dirent64)

#define MUSUBI_SCAN_AT(name, Entry)                                                                          \
  MUSUBI_EXPORT int wrapped_##name(int folder, const char* path, Entry*** list, int (*filter)(const Entry*), \
                                   int (*order)(const Entry**, const Entry**)) __asm__(#name);               \
  int wrapped_##name(int folder, const char* path, Entry*** list, int (*filter)(const Entry*),               \
                     int (*order)(const Entry**, const Entry**)) {                                           \
    using Scan =                                                                                             \
        int (*)(int, const char*, Entry***, int (*)(const Entry*), int (*)(const Entry**, const Entry**));   \
    static constinit Next<Scan> next(#name);                                                                 \
    if (musubi::image::Job* const job = musubi::image::current_job())                                        \
      musubi::image::KernelAccess(*job).file_if_open(folder);                                                \
    return share_entries(next.get()(folder, path, list, filter, order), list);                               \
  }
MUSUBI_SCAN_AT(scandirat, struct dirent)
MUSUBI_SCAN_AT(scandirat64, struct dirent64)

// The job has one table for hsearch.
namespace {

struct hsearch_data* search_table(musubi::image::Job& job) {
  return reinterpret_cast<struct hsearch_data*>(
      job.runtime.words().load(musubi::Rank{0}, musubi::image::job_words::search_table));
}

musubi::image::Job* job_with_table() {
  musubi::image::Job* const job = musubi::image::current_job();
  return job != nullptr && job->program_runs() ? job : nullptr;
}

}  // namespace

MUSUBI_WRAPPER(int, hcreate, (size_t count)) {
  static constinit Next<int (*)(size_t)> next("hcreate");
  musubi::image::Job* const job = job_with_table();
  if (job == nullptr) return next.get()(count);
  if (search_table(*job) != nullptr) return 0;
  auto* const table =
      static_cast<struct hsearch_data*>(process_heap.allocate_shared(sizeof(struct hsearch_data)));
  if (table == nullptr) return 0;
  *table = {};
  const Heap::LibraryServed library;
  if (::hcreate_r(count, table) == 0) return 0;
  job->runtime.words().store(musubi::Rank{0}, musubi::image::job_words::search_table,
                             reinterpret_cast<std::uint64_t>(table));
  return 1;
}
MUSUBI_WRAPPER(ENTRY*, hsearch, (ENTRY item, ACTION action)) {
  static constinit Next<ENTRY* (*)(ENTRY, ACTION)> next("hsearch");
  musubi::image::Job* const job = job_with_table();
  if (job == nullptr) return next.get()(item, action);
  struct hsearch_data* const table = search_table(*job);
  ENTRY* found = nullptr;
  if (table == nullptr) {
    errno = ESRCH;
  } else {
    ::hsearch_r(item, action, &found, table);
  }
  return found;
}
MUSUBI_WRAPPER(void, hdestroy, ()) {
  static constinit Next<void (*)()> next("hdestroy");
  musubi::image::Job* const job = job_with_table();
  if (job == nullptr) return next.get()();
  struct hsearch_data* const table = search_table(*job);
  if (table == nullptr) return;
  job->runtime.words().store(musubi::Rank{0}, musubi::image::job_words::search_table, 0);
  ::hdestroy_r(table);
  process_heap.release(table);
}

// Lists of addresses: one allocation holds an entry and its address.
MUSUBI_EXPORT int getaddrinfo(const char* node, const char* service, const addrinfo* hints, addrinfo** list) {
  static constinit Next<int (*)(const char*, const char*, const addrinfo*, addrinfo**)> next("getaddrinfo");
  addrinfo* found = nullptr;
  const int error = next.get()(node, service, hints, &found);
  if (error != 0) return error;
  for (addrinfo** place = &found; *place != nullptr; place = &(*place)->ai_next) {
    void* const shared = move_to_shared(*place, sizeof **place + (*place)->ai_addrlen);
    if (shared == nullptr) return EAI_MEMORY;
    *place = static_cast<addrinfo*>(shared);
    addrinfo& entry = **place;
    if (entry.ai_addr != nullptr) entry.ai_addr = reinterpret_cast<sockaddr*>(*place + 1);
    if (entry.ai_canonname == nullptr) continue;
    void* const name = move_to_shared(entry.ai_canonname, std::strlen(entry.ai_canonname) + 1);
    if (name == nullptr) return EAI_MEMORY;
    entry.ai_canonname = static_cast<char*>(name);
  }
  *list = found;
  return 0;
}

MUSUBI_EXPORT int wordexp(const char* words, wordexp_t* found, int flags) {
  static constinit Next<int (*)(const char*, wordexp_t*, int)> next("wordexp");
  const musubi::os::Unbound unbound;  // it may start a shell
  const int result = next.get()(words, found, flags);
  if ((result != 0 && result != WRDE_NOSPACE) || found->we_wordv == nullptr) return result;
  const std::size_t first = (flags & WRDE_DOOFFS) != 0 ? found->we_offs : 0;
  const std::size_t end = first + found->we_wordc;
  void* const list = move_to_shared(found->we_wordv, (end + 1) * sizeof(char*));
  if (list == nullptr) return WRDE_NOSPACE;
  found->we_wordv = static_cast<char**>(list);
  for (std::size_t i = first; i < end; ++i) {
    void* const word = move_to_shared(found->we_wordv[i], std::strlen(found->we_wordv[i]) + 1);
    if (word == nullptr) return WRDE_NOSPACE;
    found->we_wordv[i] = static_cast<char*>(word);
  }
  return result;
}
