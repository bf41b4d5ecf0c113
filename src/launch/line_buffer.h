// Cuts the output of one rank into whole lines, so that lines of several ranks never mix.
#pragma once

#include <string>
#include <string_view>

namespace musubi::launch {

class LineBuffer {
 public:
  // `label` precedes each line; empty: the bytes are unchanged.
  explicit LineBuffer(std::string label) : label_(std::move(label)) {}

  // Adds `bytes`, and appends the completed lines to `out`. A line beyond 16 MiB is split.
  void add(std::string_view bytes, std::string& out);
  // Appends the begun line to `out`, as a prompt or at the end of the output. A labelled line is completed by
  // a newline, so that the next label does not follow it directly.
  void flush(std::string& out);

  std::size_t begun_bytes() const { return begun_.size(); }  // size of the begun line

 private:
  void emit(std::string_view bytes, std::string& out);

  std::string label_;
  std::string begun_;
};

}  // namespace musubi::launch
