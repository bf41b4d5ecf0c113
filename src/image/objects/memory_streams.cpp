#include "image/objects/memory_streams.h"

#include <wchar.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <vector>

#include "heap/heap.h"
#include "heap/stream_memory.h"
#include "image/process/real_function.h"

namespace musubi::image {

std::FILE* MemoryStreams::open(char** place, std::size_t* length_place, Kind kind) {
  using Open = std::FILE* (*)(char**, std::size_t*);
  static const auto open_narrow = reinterpret_cast<Open>(next_definition("open_memstream"));
  static const auto open_wide = reinterpret_cast<Open>(next_definition("open_wmemstream"));
  *place = nullptr;
  *length_place = 0;
  std::list<Stream> made(1);
  Stream& stream = made.front();
  stream = {0, nullptr, kind, place, length_place, nullptr, 0};
  {
    const heap::StreamMemory::StreamAllocation allocation;
    stream.stream = (kind == Kind::wide ? open_wide : open_narrow)(&stream.text, &stream.length);
  }
  auto* const result = const_cast<std::FILE*>(stream.stream);
  if (result == nullptr) return nullptr;
  const std::lock_guard held(lock_);
  stream.id = ++last_id_;
  streams_.splice(streams_.begin(), made);
  return result;
}

MemoryStreams::Text MemoryStreams::describe(const Stream& stream) const noexcept {
  return {stream.id, stream.place, stream.length_place, stream.length,
          stream.kind == Kind::wide ? sizeof(wchar_t) : sizeof(char)};
}

std::uint64_t MemoryStreams::id_of(const std::FILE* stream, bool closes) noexcept {
  if (last_id_.load() == 0) return 0;
  const std::lock_guard held(lock_);
  for (Stream& known : streams_) {
    if (known.stream != stream) continue;
    if (closes) known.stream = nullptr;
    return known.id;
  }
  return 0;
}

MemoryStreams::Text MemoryStreams::text_of(std::uint64_t id) noexcept {
  if (id == 0) return {};
  const std::lock_guard held(lock_);
  for (const Stream& known : streams_) {
    if (known.id == id) return describe(known);
  }
  return {};
}

std::size_t MemoryStreams::read(std::uint64_t id, std::size_t offset, std::span<char> part) noexcept {
  const std::lock_guard held(lock_);
  for (const Stream& known : streams_) {
    if (known.id != id) continue;
    const std::size_t bytes = known.length * describe(known).character_bytes;
    const std::size_t count = std::min(bytes - std::min(offset, bytes), part.size());
    std::memcpy(part.data(), known.text + offset, count);
    return count;
  }
  return 0;
}

void MemoryStreams::drop(std::uint64_t id) noexcept {
  std::list<Stream> ended;
  {
    const std::lock_guard held(lock_);
    for (auto place = streams_.begin(); place != streams_.end(); ++place) {
      if (place->id != id) continue;
      ended.splice(ended.begin(), streams_, place);
      break;
    }
  }
  if (!ended.empty()) heap::process_heap.release(ended.front().text);
}

char* MemoryStreams::provide(const Text& text) noexcept {
  const std::size_t bytes = text.length * text.character_bytes;
  auto* const memory =
      static_cast<char*>(heap::process_heap.resize(*text.place, bytes + text.character_bytes, nullptr));
  if (memory == nullptr) return nullptr;
  std::memset(memory + bytes, 0, text.character_bytes);
  *text.place = memory;
  *text.length_place = text.length;
  return memory;
}

void MemoryStreams::show(const Text& text) noexcept {
  char* const memory = provide(text);
  if (memory == nullptr) return;
  // Without the lock, because an access to the program's page may block.
  char part[1024];
  for (std::size_t offset = 0;;) {
    const std::size_t count = read(text.id, offset, part);
    if (count == 0) return;
    std::memcpy(memory + offset, part, count);
    offset += count;
  }
}

void MemoryStreams::show_all() noexcept {
  std::vector<Text> texts;
  {
    const std::lock_guard held(lock_);
    for (const Stream& known : streams_) {
      if (known.stream != nullptr) texts.push_back(describe(known));
    }
  }
  for (const Text& text : texts) show(text);
}

MemoryStreams& memory_streams() noexcept {
  static auto& of_process = *new MemoryStreams;
  return of_process;
}

}  // namespace musubi::image
