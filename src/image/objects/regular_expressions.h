// Regular expressions of the C library. A compiled one points to private memory, changes while it is matched,
// and is guarded by a lock of the process: each rank therefore compiles the expressions that it uses. The
// program's object holds the pattern and the flags.
#pragma once

#include <regex.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>

namespace musubi::image {

// The C library's functions.
struct RegexFunctions {
  int (*compile)(regex_t*, const char*, int);
  int (*match)(const regex_t*, const char*, std::size_t, regmatch_t*, int);
  void (*release)(regex_t*);
};

class RegularExpressions {
 public:
  explicit RegularExpressions(const RegexFunctions& functions) : functions_(functions) {}

  // As regcomp(3), regexec(3), regfree(3). The latter two REQUIRE is_ours(*expression). Any thread.
  int compile(regex_t* expression, const char* pattern, int flags);
  int match(const regex_t& expression, const char* text, std::size_t count, regmatch_t* matches, int flags);
  void release(regex_t* expression);

  // Whether compile() made it, on any rank.
  static bool is_ours(const regex_t& expression) noexcept;

 private:
  struct Source;
  struct Compiled {
    Compiled(std::uint64_t number, const RegexFunctions& functions) : id(number), functions_(functions) {}
    ~Compiled() {
      if (is_valid) functions_.release(&expression);
    }
    Compiled(const Compiled&) = delete;
    Compiled& operator=(const Compiled&) = delete;

    const std::uint64_t id;
    regex_t expression{};
    bool is_valid = false;

   private:
    const RegexFunctions& functions_;
  };

  std::shared_ptr<Compiled> find(const Source& source);

  const RegexFunctions functions_;
  std::mutex lock_;
  std::list<std::shared_ptr<Compiled>> recent_;  // most recently used first
};

}  // namespace musubi::image
