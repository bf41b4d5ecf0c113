#include "launch/line_buffer.h"

namespace musubi::launch {

void LineBuffer::add(std::string_view bytes, std::string& out) {
  constexpr std::size_t line_bytes_max = 16 << 20;
  const std::size_t last_newline = bytes.rfind('\n');
  if (last_newline != std::string_view::npos) {
    begun_.append(bytes.substr(0, last_newline + 1));
    emit(begun_, out);
    begun_.assign(bytes.substr(last_newline + 1));
  } else {
    begun_.append(bytes);
    if (begun_.size() > line_bytes_max) flush(out);
  }
}

void LineBuffer::flush(std::string& out) {
  if (begun_.empty()) return;
  if (!label_.empty()) begun_ += '\n';
  emit(begun_, out);
  begun_.clear();
}

void LineBuffer::emit(std::string_view bytes, std::string& out) {
  if (label_.empty()) {
    out.append(bytes);
    return;
  }
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n') + 1;  // every line here ends with a newline
    out.append(label_).append(bytes.substr(0, end));
    bytes.remove_prefix(end);
  }
}

}  // namespace musubi::launch
