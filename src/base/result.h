// Result<T>: a value, or an error that names the cause and the remedy.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/check.h"

namespace musubi {

struct Error {
  std::string message;  // one line: cause, then remedy
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : content_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return content_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // REQUIRES: ok().
  const T& value() const& {
    MUSUBI_CHECK(ok(), "%s", std::get<1>(content_).message.c_str());
    return std::get<0>(content_);
  }
  T& value() & {
    MUSUBI_CHECK(ok(), "%s", std::get<1>(content_).message.c_str());
    return std::get<0>(content_);
  }
  T&& value() && {
    MUSUBI_CHECK(ok(), "%s", std::get<1>(content_).message.c_str());
    return std::move(std::get<0>(content_));
  }
  // REQUIRES: !ok().
  const Error& error() const { return std::get<1>(content_); }

 private:
  std::variant<T, Error> content_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

}  // namespace musubi

// Assigns the value of a result to `target`, which may be a declaration, or returns the result's error.
#define MUSUBI_ASSIGN_OR_RETURN(target, ...) \
  MUSUBI_ASSIGN_OR_RETURN_BY(MUSUBI_NAME_IN_LINE(result_, __LINE__), target, (__VA_ARGS__))
#define MUSUBI_ASSIGN_OR_RETURN_BY(result, target, expression) \
  auto result = expression;                                    \
  if (!result) return result.error();                          \
  target = std::move(result).value()
#define MUSUBI_NAME_IN_LINE(name, line) MUSUBI_JOINED_NAME(name, line)
#define MUSUBI_JOINED_NAME(name, line) name##line
