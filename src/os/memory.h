// Memory that processes share without names: memory files (memfd), their mappings, and the files of peers.
// Nothing made here outlives the processes that hold it, however they end.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"

namespace musubi::os {

std::size_t page_bytes() noexcept;

// Whether this kernel counts private memory as taken when it is reserved (vm.overcommit_memory=2). False when
// it does not say.
bool commits_strictly();

// An open file, closed when destroyed, and noted as the runtime's own until then (os/own_files.h).
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int number) noexcept;
  FileDescriptor(FileDescriptor&& other) noexcept;
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor() { close(); }

  int number() const noexcept { return number_; }  // -1 when there is none
  int release() noexcept;                          // gives the number away; the caller closes it
  void close() noexcept;

 private:
  int number_ = -1;
};

enum class AcrossExec : std::uint8_t { closed, kept };

// A memory file of `bytes` zero bytes. Sparse: a page takes memory when it is first written. `name` shows up
// in /proc/PID/maps only.
Result<FileDescriptor> create_memory_file(const char* name, std::size_t bytes,
                                          AcrossExec across_exec = AcrossExec::closed);

// Opens file `number` of process `pid` for reading and writing. Needs the same user and one PID namespace;
// the peer must keep the file open until this has returned.
Result<FileDescriptor> open_file_of_process(pid_t pid, int number);

enum class Protection : std::uint8_t { none, read, read_write };

// What a mapping shows: a part of a file (shared), or, without a file, fresh zero memory (private).
struct Source {
  int file = -1;
  std::uint64_t offset = 0;  // whole pages
};

// A range of addresses, unmapped when destroyed. Never reserves swap: address space is free, pages come at
// first touch.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping() { unmap(); }

  // Wherever there is room.
  static Result<Mapping> anywhere(std::size_t bytes, Protection protection, Source source = {});
  // At `address` (whole pages). Fails, and changes nothing, when something is mapped there.
  static Result<Mapping> at(void* address, std::size_t bytes, Protection protection, Source source = {});

  std::byte* data() const noexcept { return data_; }
  std::size_t bytes() const noexcept { return bytes_; }
  explicit operator bool() const noexcept { return data_ != nullptr; }

  // Lets the kernel use huge pages for this part (whole pages) where it is set up to; it may not be.
  void prefer_huge_pages(std::size_t offset, std::size_t bytes) const noexcept;

  std::byte* release() noexcept;  // the range stays mapped for good
  void unmap() noexcept;

 private:
  Mapping(std::byte* data, std::size_t bytes) noexcept : data_(data), bytes_(bytes) {}

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// Maps over the range [address, address+bytes). REQUIRES: the caller owns this range (a reservation, the
// image of the program). The owner goes on to unmap it.
Result<void> map_over(void* address, std::size_t bytes, Protection protection, Source source);

// Of `pages` pages of private memory from `address` on, which may hold something else than when they were
// mapped; the others were never touched. All, when the kernel does not tell. Costs nanoseconds per page.
std::vector<bool> touched_pages(const void* address, std::size_t pages);

// Gives the memory of a part of a memory file (whole pages) back to the system: zeros stand there until it is
// written again. Any thread, signal-safe; takes about a microsecond per page. False where the system does not
// do that.
bool punch_hole(const FileDescriptor& file, std::uint64_t offset, std::size_t bytes) noexcept;

// The same for private memory without a file, mapped at `address` (whole pages).
bool drop_private(std::uintptr_t address, std::size_t bytes) noexcept;

// Where the first byte at or behind `offset` stands that takes memory in a memory file; UINT64_MAX when there
// is none, 0 when the system does not tell.
std::uint64_t next_data(int file, std::uint64_t offset) noexcept;

// Changes the protection of mapped pages.
Result<void> protect(void* address, std::size_t bytes, Protection protection);

}  // namespace musubi::os
