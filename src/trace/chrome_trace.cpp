#include "trace/chrome_trace.h"

#include <cinttypes>

namespace musubi::trace {
namespace {

// All names are from events.def and from this file: none needs an escape.
class Writer {
 public:
  Writer(std::FILE* file, std::uint64_t zero_ns) : file_(file), zero_ns_(zero_ns) {}

  void begin() { std::fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", file_); }
  void end() { std::fputs("\n]}\n", file_); }

  void name_process(std::size_t rank, std::uint64_t lost) {
    separate();
    std::fprintf(
        file_,
        "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%zu,\"tid\":0,\"args\":{\"name\":\"rank %zu\"}}",
        rank, rank);
    separate();
    std::fprintf(file_,
                 "{\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":%zu,\"tid\":0,"
                 "\"args\":{\"sort_index\":%zu}}",
                 rank, rank);
    if (lost == 0) return;
    separate();
    std::fprintf(file_,
                 "{\"name\":\"process_labels\",\"ph\":\"M\",\"pid\":%zu,\"tid\":0,"
                 "\"args\":{\"labels\":\"%" PRIu64 " older events lost\"}}",
                 rank, lost);
  }

  void name_thread(std::size_t rank, std::size_t thread, const EventRing& ring) {
    separate();
    std::fprintf(file_,
                 "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%zu,\"tid\":%zu,\"args\":{\"name\":\"", rank,
                 thread);
    switch (ring.role.load()) {
      case ThreadRole::main:
        std::fputs("main", file_);
        break;
      case ThreadRole::team:
        std::fprintf(file_, "OpenMP thread %" PRIu32, ring.number.load());
        break;
      case ThreadRole::background:
        std::fputs("background", file_);
        break;
      case ThreadRole::memory:
        std::fputs("memory", file_);
        break;
      case ThreadRole::unnamed:
        std::fprintf(file_, "thread %zu", thread);
        break;
    }
    std::fputs("\"}}", file_);
  }

  void write(std::size_t rank, std::size_t thread, const EventSpan& span) {
    const EventText& text = event_texts[static_cast<std::size_t>(span.event)];
    separate();
    std::fprintf(file_,
                 "{\"name\":\"%s\",\"cat\":\"%s\",\"ph\":\"X\",\"pid\":%zu,\"tid\":%zu,\"ts\":", text.name,
                 text.category, rank, thread);
    write_microseconds(span.begin_ns - zero_ns_);
    std::fputs(",\"dur\":", file_);
    write_microseconds(span.end_ns - span.begin_ns);
    std::fprintf(file_, ",\"args\":{\"argument\":\"%#" PRIx64 "\"}}", span.argument);
  }

 private:
  void separate() {
    std::fputs(first_ ? "\n" : ",\n", file_);
    first_ = false;
  }
  void write_microseconds(std::uint64_t ns) {
    std::fprintf(file_, "%" PRIu64 ".%03" PRIu64, ns / 1000, ns % 1000);
  }

  std::FILE* file_;
  const std::uint64_t zero_ns_;
  bool first_ = true;
};

}  // namespace

void write_chrome_trace(std::FILE* file, std::span<const EventLog> logs, std::uint64_t zero_ns) {
  Writer writer(file, zero_ns);
  writer.begin();
  for (std::size_t rank = 0; rank < logs.size(); ++rank) {
    const EventLog& log = logs[rank];
    writer.name_process(rank, log.lost());
    for (std::size_t thread = 0; thread < log.rings(); ++thread) {
      writer.name_thread(rank, thread, log.ring(thread));
      log.for_each(thread, [&](const EventSpan& span) { writer.write(rank, thread, span); });
    }
  }
  writer.end();
}

}  // namespace musubi::trace
