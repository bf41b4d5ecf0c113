// Objects of the C library that one thread makes and another uses: streams of directories and in memory,
// regular expressions, tables, lists, texts that scanf allocates.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <omp.h>
#include <regex.h>
#include <search.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>
#include <wordexp.h>

#include "check.h"

enum { files = 1000 };

static char folder[] = "/tmp/musubi-objects-XXXXXX";

static int is_last(void) {
  return omp_get_thread_num() == omp_get_num_threads() - 1;
}

static int count_rest(DIR* stream) {
  int count = 0;
  for (struct dirent* entry; (entry = readdir(stream)) != NULL;) count += entry->d_name[0] == 'f';
  return count;
}

static void check_folders(void) {
  CHECK(mkdtemp(folder) != NULL);
  const int place = open(folder, O_RDONLY | O_DIRECTORY);
  CHECK(place >= 0);
#pragma omp parallel for
  for (int i = 0; i < files; ++i) {
    char name[20];
    sprintf(name, "file%d", i);
    CHECK(close(openat(place, name, O_CREAT | O_WRONLY, 0600)) == 0);
  }
  DIR* stream = opendir(folder);
  CHECK(stream != NULL && opendir("/no/such/folder") == NULL && errno == ENOENT);
  const struct dirent* first = readdir(stream);
  int seen = first->d_name[0] == 'f', named = 0, length = (int)strlen(first->d_name);
#pragma omp parallel reduction(+ : named)
  named += (int)strlen(first->d_name);
  CHECK(named == length * omp_get_max_threads());
  // Each entry once, whichever thread reads it.
#pragma omp parallel reduction(+ : seen)
  for (int more = 1; more;) {
#pragma omp critical
    {
      const struct dirent* entry = readdir(stream);
      more = entry != NULL;
      seen += more && entry->d_name[0] == 'f';
    }
  }
  CHECK(seen == files);
  // Adjacent streams in one block, which other ranks take repeatedly while the kernel lists.
#pragma omp parallel for schedule(static, 1)
  for (int i = 0; i < 40; ++i) {
    DIR* own = opendir(folder);
    CHECK(own != NULL && count_rest(own) == files && closedir(own) == 0);
  }
#pragma omp parallel
  if (is_last()) {
    rewinddir(stream);
    CHECK(count_rest(stream) == files && errno != EBADF);
    rewinddir(stream);
    for (int i = 0; i < 500; ++i) CHECK(readdir64(stream) != NULL);
  }
  const long half = telldir(stream);
  const int rest = count_rest(stream);
  CHECK(rest > 0 && rest < files);
#pragma omp parallel
  if (is_last()) {
    seekdir(stream, half);
    CHECK(count_rest(stream) == rest && closedir(stream) == 0);
    stream = fdopendir(place);
  }
  CHECK(stream != NULL && dirfd(stream) == place && count_rest(stream) == files);
  for (int i = 0; i < files; ++i) {
    char name[20];
    sprintf(name, "file%d", i);
    CHECK(unlinkat(place, name, 0) == 0);
  }
  CHECK(closedir(stream) == 0 && close(place) == -1 && rmdir(folder) == 0);
}

static void check_expressions(void) {
  regex_t words, numbers;
  CHECK(regcomp(&words, "a(b+)c", REG_EXTENDED) == 0 && words.re_nsub == 1);
#pragma omp parallel for
  for (int i = 0; i < 1000; ++i) {
    char text[] = "xxabbbcxx";
    regmatch_t found[2];
    CHECK(regexec(&words, text, 2, found, 0) == 0 && found[1].rm_so == 3 && found[1].rm_eo == 6);
    CHECK(regexec(&words, "ac", 2, found, 0) == REG_NOMATCH);
  }
#pragma omp parallel
  if (is_last()) {
    regfree(&words);
    CHECK(regcomp(&words, "^x*$", REG_NOSUB) == 0 && regcomp(&numbers, "[0-9]{3}", REG_EXTENDED) == 0);
    regex_t wrong;
    char reason[100];
    const int error = regcomp(&wrong, "a(", REG_EXTENDED);
    CHECK(error != 0 && regerror(error, &wrong, reason, sizeof reason) > 1);
  }
  CHECK(regexec(&words, "xxx", 0, NULL, 0) == 0 && regexec(&words, "xyx", 0, NULL, 0) == REG_NOMATCH);
  CHECK(regexec(&numbers, "room 204", 0, NULL, 0) == 0);
  regfree(&words);
  regfree(&numbers);
}

static void check_memory_streams(void) {
  char* text;
  size_t bytes;
  FILE* stream = open_memstream(&text, &bytes);
  CHECK(stream != NULL && fprintf(stream, "main;") == 5 && fflush(stream) == 0);
#pragma omp parallel
  {
    CHECK(strcmp(text, "main;") == 0 && bytes == 5);
#pragma omp barrier
    if (is_last()) {
      CHECK(fprintf(stream, "region;") == 7 && fflush(stream) == 0 && strcmp(text, "main;region;") == 0);
    }
  }
  CHECK(bytes == 12 && fprintf(stream, "%0100000d", 7) == 100000 && fclose(stream) == 0 && bytes == 100012);
#pragma omp parallel
  if (is_last()) {
    CHECK(strlen(text) == bytes && text[bytes - 1] == '7');
    free(text);
    stream = open_memstream(&text, &bytes);
    CHECK(stream != NULL);
  }
  for (int i = 0; i < 5000; ++i) CHECK(fputs("text", stream) >= 0);
  CHECK(fclose(stream) == 0 && bytes == 20000 && strlen(text) == bytes &&
        memcmp(text + 19996, "text", 5) == 0);
  free(text);
  wchar_t* wide;
#pragma omp parallel
  if (is_last()) {
    stream = open_wmemstream(&wide, &bytes);
    CHECK(stream != NULL && fputws(L"wide", stream) >= 0);
  }
  CHECK(fclose(stream) == 0 && bytes == 4 && wcscmp(wide, L"wide") == 0);
  free(wide);
}

static void check_scans(void) {
  char *one, *two, *three;
  wchar_t* wide;
  int skipped = 0, end;
  CHECK(sscanf("100% one, 17 22 two wide", "%d%% %m[a-z], %*d %*ms %n%ms %mls", &skipped, &one, &end, &two,
               &wide) == 4);
#pragma omp parallel
  {
    CHECK(skipped == 100 && strcmp(one, "one") == 0 && strcmp(two, "two") == 0 && end == 16);
    CHECK(wcscmp(wide, L"wide") == 0);
#pragma omp barrier
    if (is_last()) {
      free(one);
      free(wide);
      CHECK(sscanf("abcdef", "%4mc", &one) == 1);
    }
  }
  CHECK(memcmp(one, "abcd", 4) == 0);
  free(one);
  free(two);
  FILE* file = tmpfile();
  CHECK(file != NULL && fputs("first second third", file) >= 0 && fseek(file, 0, SEEK_SET) == 0);
  CHECK(fscanf(file, "%ms", &one) == 1);
#pragma omp parallel
  if (is_last()) CHECK(fscanf(file, "%ms", &two) == 1 && strcmp(one, "first") == 0);
  CHECK(fscanf(file, "%ms", &three) == 1 && strcmp(two, "second") == 0 && strcmp(three, "third") == 0);
  CHECK(fclose(file) == 0);
  free(one);
  free(two);
  free(three);
}

static void check_tables(void) {
  static int value = 5;
  CHECK(hcreate(100) != 0 && hcreate(100) == 0);
  CHECK(hsearch((ENTRY){"key", &value}, ENTER) != NULL);
#pragma omp parallel
  {
    const ENTRY* found = hsearch((ENTRY){"key", NULL}, FIND);
    CHECK(found != NULL && *(int*)found->data == 5 && hsearch((ENTRY){"other", NULL}, FIND) == NULL);
#pragma omp barrier
    if (is_last()) CHECK(hsearch((ENTRY){"other", &value}, ENTER) != NULL);
  }
  CHECK(hsearch((ENTRY){"other", NULL}, FIND) != NULL);
  hdestroy();
}

static void check_lists(void) {
  struct addrinfo hints, *list;
  memset(&hints, 0, sizeof hints);
  hints.ai_flags = AI_NUMERICHOST | AI_CANONNAME;
  CHECK(getaddrinfo("127.0.0.1", "80", &hints, &list) == 0);
  wordexp_t words;
  CHECK(wordexp("one 'two three' four", &words, 0) == 0);
#pragma omp parallel
  {
    CHECK(list->ai_addr->sa_family == AF_INET && strcmp(list->ai_canonname, "127.0.0.1") == 0);
    CHECK(words.we_wordc == 3 && strcmp(words.we_wordv[1], "two three") == 0 && words.we_wordv[3] == NULL);
#pragma omp barrier
    if (is_last()) {
      freeaddrinfo(list);
      wordfree(&words);
    }
  }
}

int main(void) {
  check_folders();
  check_expressions();
  check_memory_streams();
  check_scans();
  check_tables();
  check_lists();
  printf("library_objects: passed\n");
  return 0;
}
