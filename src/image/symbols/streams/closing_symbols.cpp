// fflush and fclose: after them the program may read the text of a memory stream
// (image/objects/memory_streams.h).
#include <stdio.h>
#include <unistd.h>
#include <wchar.h>

#include <algorithm>
#include <cerrno>

#include "image/objects/memory_streams.h"
#include "image/objects/streams.h"
#include "image/start/job.h"
#include "image/symbols/exported.h"
#include "image/symbols/streams/foreign_stream.h"

namespace {

using namespace musubi::image;
using Operation = Streams::Operation;

// The linker's symbols for the bounds of our code.
extern "C" const char __ehdr_start[] __attribute__((visibility("hidden")));
extern "C" const char _end[] __attribute__((visibility("hidden")));

bool is_ours(const void* caller) {
  return caller >= __ehdr_start && caller < _end;
}

// Runs at the owner; copies the text of a memory stream to memory of this rank.
std::int64_t operate(FILE* stream, Streams& owner, Operation operation) {
  MemoryStreams::Text text{};
  const std::int64_t result =
      owner.operate(stream, operation, 0, 0, {}, {reinterpret_cast<char*>(&text), sizeof text});
  if (text.id == 0) return result;
  const auto id = static_cast<std::int64_t>(text.id);
  char* const memory = MemoryStreams::provide(text);
  const std::size_t bytes = memory != nullptr ? text.length * text.character_bytes : 0;
  for (std::size_t offset = 0; offset < bytes; offset += Streams::data_bytes_max) {
    const std::size_t part = std::min(bytes - offset, Streams::data_bytes_max);
    owner.operate(stream, Operation::text, static_cast<std::int64_t>(offset), id, {},
                  {memory + offset, part});
  }
  if (operation == Operation::close) owner.operate(stream, Operation::drop_text, 0, id);
  return result;
}

int flush(FILE* stream, int (*next)(FILE*)) {
  if (Streams* const owner = owner_of(stream))
    return as_call(operate(stream, *owner, Operation::flush)) == 0 ? 0 : EOF;
  const int result = next(stream);
  if (const std::uint64_t id = memory_streams().id_of(stream, false); id != 0) {
    memory_streams().show(memory_streams().text_of(id));
  }
  return result;
}

// Flushes all streams of this rank, and the common output.
int flush_all(int (*next)(FILE*)) {
  Streams* const owner = owner_of(stdout);
  const bool elsewhere = owner == nullptr || as_call(owner->operate(stdout, Operation::flush)) == 0;
  const bool here = next(nullptr) == 0;
  memory_streams().show_all();
  return elsewhere && here ? 0 : EOF;
}

}  // namespace

MUSUBI_EXPORT int fflush(FILE* stream) {
  static constinit Next<int (*)(FILE*)> next("fflush");
  // When the runtime ends a rank, rank 0 may already be gone.
  if (is_ours(MUSUBI_CALLER)) return next.get()(stream);
  return stream == nullptr ? flush_all(next.get()) : flush(stream, next.get());
}
MUSUBI_EXPORT int fflush_unlocked(FILE* stream) {
  static constinit Next<int (*)(FILE*)> next("fflush_unlocked");
  return stream == nullptr ? flush_all(next.get()) : flush(stream, next.get());
}

MUSUBI_EXPORT int fclose(FILE* stream) {
  static constinit Next<int (*)(FILE*)> next("fclose");
  if (Streams* const owner = owner_of(stream)) {
    return as_call(operate(stream, *owner, Operation::close)) == 0 ? 0 : EOF;
  }
  const bool for_program = !is_ours(MUSUBI_CALLER);
  const std::uint64_t id = for_program ? memory_streams().id_of(stream, true) : 0;
  const int result = while_closing(stream, [&] { return next.get()(stream); });
  if (id != 0) {
    memory_streams().show(memory_streams().text_of(id));
    memory_streams().drop(id);
  }
  return result;
}

MUSUBI_EXPORT FILE* open_memstream(char** text, size_t* bytes) noexcept {
  static constinit Next<FILE* (*)(char**, size_t*)> next("open_memstream");
  return job_of_ranks() == nullptr ? next.get()(text, bytes)
                                   : memory_streams().open(text, bytes, MemoryStreams::Kind::narrow);
}
MUSUBI_EXPORT FILE* open_wmemstream(wchar_t** text, size_t* length) noexcept {
  static constinit Next<FILE* (*)(wchar_t**, size_t*)> next("open_wmemstream");
  return job_of_ranks() == nullptr
             ? next.get()(text, length)
             : memory_streams().open(reinterpret_cast<char**>(text), length, MemoryStreams::Kind::wide);
}
