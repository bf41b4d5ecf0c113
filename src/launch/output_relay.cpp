#include "launch/output_relay.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace musubi::launch {
namespace {

constexpr std::uint64_t quiet_ns = 50'000'000;
// C's stdio writes full buffers of this size to a pipe. Output that ends with a full buffer is hardly a
// prompt, but a part of a line of a rank that computes for a while.
constexpr std::size_t stdio_block_bytes = 4096;
constexpr std::uint64_t quiet_after_block_ns = 1'000'000'000;
constexpr std::size_t prompt_bytes_max = 4096;  // a longer line is no prompt, but not complete yet
constexpr std::size_t read_bytes = 64 * 1024;

}  // namespace

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

OutputRelay::OutputRelay(PipeWatcher& watcher, RankRange ranks, bool label_lines, LineSink& output,
                         LineSink& error)
    : watcher_(watcher),
      ranks_(ranks),
      label_lines_(label_lines),
      output_(output),
      error_(error),
      scratch_(read_bytes, '\0') {
  channels_.reserve(2 * std::size_t{ranks.count});
}

void OutputRelay::add_rank(os::FileDescriptor output, os::FileDescriptor error) {
  const Rank rank = ranks_[static_cast<std::uint32_t>(channels_.size() / 2)];
  const std::string label = label_lines_ ? "[" + std::to_string(rank.value) + "] " : "";
  channels_.push_back({rank, Stream::output, std::move(output), LineBuffer(label), false, false, 0, false});
  set_watched(channels_.back(), true);
  channels_.push_back({rank, Stream::error, std::move(error), LineBuffer(label), false, false, 0, false});
  set_watched(channels_.back(), true);
}

void OutputRelay::readable(Rank rank, Stream stream, std::uint64_t now_ns) {
  pump(channels_[2 * ranks_.index(rank) + static_cast<std::uint32_t>(stream)], now_ns);
}

void OutputRelay::progressed(std::uint64_t now_ns) {
  for (Channel& channel : channels_) {
    if (channel.pipe.number() >= 0 && (!channel.watched || sink(channel.stream).broken()))
      pump(channel, now_ns);
  }
}

void OutputRelay::rank_ended(Rank rank, std::uint64_t now_ns) {
  const std::uint32_t first = 2 * ranks_.index(rank);
  for (std::uint32_t i = first; i < first + 2; ++i) {
    channels_[i].ended = true;
    pump(channels_[i], now_ns);
  }
}

void OutputRelay::flush_quiet(std::uint64_t now_ns) {
  if (label_lines_ || !prompts_) return;
  for (std::size_t i = 0; i < prompting_channels(); ++i) {
    Channel& channel = channels_[i];
    if (!may_be_prompt(channel) || now_ns < quiet_from_ns(channel)) continue;
    std::string out;
    channel.lines.flush(out);
    sink(channel.stream).write(std::move(out));
  }
}

std::optional<std::uint64_t> OutputRelay::quiet_deadline_ns() const {
  std::optional<std::uint64_t> deadline;
  if (label_lines_ || !prompts_) return deadline;
  for (std::size_t i = 0; i < prompting_channels(); ++i) {
    if (!may_be_prompt(channels_[i])) continue;
    const std::uint64_t due = quiet_from_ns(channels_[i]);
    deadline = deadline ? std::min(*deadline, due) : due;
  }
  return deadline;
}

std::uint64_t OutputRelay::quiet_from_ns(const Channel& channel) {
  return channel.last_bytes_ns + (channel.ends_with_whole_block ? quiet_after_block_ns : quiet_ns);
}

// An unwatched channel is quiet only because it is not read.
bool OutputRelay::may_be_prompt(const Channel& channel) {
  const std::size_t bytes = channel.lines.begun_bytes();
  return channel.watched && bytes > 0 && bytes <= prompt_bytes_max;
}

bool OutputRelay::closed() const {
  return std::all_of(channels_.begin(), channels_.end(),
                     [](const Channel& channel) { return channel.pipe.number() < 0; });
}

// Reads once from a living rank, so that all ranks are served, and until the end from a dead one.
void OutputRelay::pump(Channel& channel, std::uint64_t now_ns) {
  LineSink& target = sink(channel.stream);
  while (channel.pipe.number() >= 0) {
    if (target.broken()) return close(channel);  // as without Musubi, SIGPIPE tells the rank
    if (target.full()) return set_watched(channel, false);
    const ssize_t bytes = ::read(channel.pipe.number(), scratch_.data(), scratch_.size());
    if (bytes < 0 && errno == EINTR) continue;
    const bool empty = bytes < 0 && errno == EAGAIN;
    // A child program of a rank may hold the pipe open after the rank's death; do not wait for it.
    if (bytes == 0 || (bytes < 0 && !empty) || (empty && channel.ended)) return close(channel);
    if (bytes > 0) {
      std::string out;
      channel.lines.add({scratch_.data(), static_cast<std::size_t>(bytes)}, out);
      target.write(std::move(out));
      channel.last_bytes_ns = now_ns;
      channel.ends_with_whole_block = static_cast<std::size_t>(bytes) % stdio_block_bytes == 0;
    }
    if (channel.ended) continue;
    if (!channel.watched) channel.last_bytes_ns = now_ns;
    return set_watched(channel, true);
  }
}

void OutputRelay::close(Channel& channel) {
  set_watched(channel, false);
  channel.pipe.close();
  flush_last_lines(sink(channel.stream));
}

// Writes lines that were begun and never completed, after all other lines, so that they do not end up inside
// of them.
void OutputRelay::flush_last_lines(const LineSink& target) {
  const auto goes_there = [&](const Channel& channel) { return &sink(channel.stream) == &target; };
  for (const Channel& channel : channels_) {
    if (goes_there(channel) && channel.pipe.number() >= 0) return;
  }
  for (Channel& channel : channels_) {
    if (!goes_there(channel)) continue;
    std::string out;
    channel.lines.flush(out);
    if (!out.empty()) sink(channel.stream).write_begun(std::move(out));
  }
}

void OutputRelay::set_watched(Channel& channel, bool watched) {
  if (channel.watched == watched) return;
  if (watched)
    watcher_.watch(channel.pipe.number(), channel.rank, channel.stream);
  else
    watcher_.unwatch(channel.pipe.number());
  channel.watched = watched;
}

}  // namespace musubi::launch
