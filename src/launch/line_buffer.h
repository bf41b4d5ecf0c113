// Cuts the output of one rank into whole lines, so that lines of several ranks never mix.
#pragma once

#include <string>
#include <string_view>

namespace musubi::launch {

class LineBuffer {
 public:
  // `label` stands before each line; empty: the bytes pass unchanged.
  explicit LineBuffer(std::string label) : label_(std::move(label)) {}

  // Takes `bytes`; appends the lines that are complete now to `out`. A line beyond 16 MiB goes out in parts.
  void add(std::string_view bytes, std::string& out);
  // Appends the begun line to `out`: a prompt, or the end of the output (a labelled one is completed by a
  // newline, or the next label would stand inside it).
  void flush(std::string& out);

  std::size_t begun_bytes() const { return begun_.size(); }  // of the begun line

 private:
  void emit(std::string_view bytes, std::string& out);

  std::string label_;
  std::string begun_;
};

}  // namespace musubi::launch
