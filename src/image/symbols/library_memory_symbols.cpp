// Functions of the C library that leave memory to the program: trees and tables, vectors of arguments, lists
// of files. What allocates nothing for itself meanwhile is run with the C library served from the shared
// heap; the others (a directory's buffer must stay private, the kernel writes to it) have their result
// copied.
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <search.h>

#include <cstring>

#include "image/heap.h"
#include "image/symbols/exported.h"
#include "image/symbols/next_function.h"

namespace {

using musubi::image::Heap;
using musubi::image::heap;
using musubi::image::Next;

using Compare = int(const void*, const void*);

// tsearch gives its function no argument of ours.
constinit thread_local Compare* compare_of_program = nullptr;

int compare_outside(const void* one, const void* other) {
  const Heap::LibraryNotServed program;
  return compare_of_program(one, other);
}

// Memory of the C library, moved to the shared heap. Null, and the old memory lives, when that is full.
void* move_to_shared(void* memory, std::size_t bytes) noexcept {
  if (memory == nullptr || heap.is_shared(memory)) return memory;
  void* const copy = heap.allocate_shared(bytes);
  if (copy == nullptr) return nullptr;
  std::memcpy(copy, memory, bytes);
  heap.release(memory);
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
