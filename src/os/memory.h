// Memory that processes share without names: memory files (memfd), their mappings, and the files of peers.
// Everything made here vanishes with the last process that holds it, however that process ends.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"

namespace musubi::os {

std::size_t page_bytes() noexcept;

// Whether this kernel commits private memory when it is reserved (vm.overcommit_memory=2). False if
// unknown.
bool commits_strictly();

// An open file, closed on destruction; until then registered as the runtime's own (os/own_files.h).
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int number) noexcept;
  FileDescriptor(FileDescriptor&& other) noexcept;
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor() { close(); }

  int number() const noexcept { return number_; }  // -1: no file
  int release() noexcept;                          // hands the number to the caller, which closes it
  void close() noexcept;

 private:
  int number_ = -1;
};

enum class AcrossExec : std::uint8_t { closed, kept };

// A memory file of `bytes` zero bytes. Sparse: a page takes memory at its first write. `name` is visible in
// /proc/PID/maps only.
Result<FileDescriptor> create_memory_file(const char* name, std::size_t bytes,
                                          AcrossExec across_exec = AcrossExec::closed);

// Opens file `number` of process `pid` for reading and writing. Needs the same user and one PID namespace;
// the peer must keep the file open until this returns.
Result<FileDescriptor> open_file_of_process(pid_t pid, int number);

enum class Protection : std::uint8_t { none, read, read_write };

// The contents of a mapping: a part of a file (shared) or, without a file, fresh zero memory (private).
struct Source {
  int file = -1;
  std::uint64_t offset = 0;  // whole pages
};

// A range of addresses, unmapped on destruction. Never reserves swap: address space is free, a page takes
// memory at its first touch.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping() { unmap(); }

  // At an address of the kernel's choice.
  static Result<Mapping> anywhere(std::size_t bytes, Protection protection, Source source = {});
  // At `address` (whole pages). Fails without any change if part of the range is mapped.
  static Result<Mapping> at(void* address, std::size_t bytes, Protection protection, Source source = {});

  std::byte* data() const noexcept { return data_; }
  std::size_t bytes() const noexcept { return bytes_; }
  explicit operator bool() const noexcept { return data_ != nullptr; }

  // Allows huge pages for this part (whole pages); the kernel's settings may still forbid them.
  void prefer_huge_pages(std::size_t offset, std::size_t bytes) const noexcept;

  std::byte* release() noexcept;  // the range stays mapped for good
  void unmap() noexcept;

 private:
  Mapping(std::byte* data, std::size_t bytes) noexcept : data_(data), bytes_(bytes) {}

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// Maps over the range [address, address+bytes). REQUIRES: the caller owns this range (a reservation, the
// image of the program). The owner still unmaps it.
Result<void> map_over(void* address, std::size_t bytes, Protection protection, Source source);

// Which of `pages` pages of private memory from `address` on may differ from their state when they were
// mapped; the other pages were never touched. All of them if the kernel does not report it. Costs nanoseconds
// per page.
std::vector<bool> touched_pages(const void* address, std::size_t pages);

// Frees the memory of a part of a memory file (whole pages), which reads as zeros until it is written again.
// Any thread, signal-safe; takes about a microsecond per page. False if the system does not support it.
bool punch_hole(const FileDescriptor& file, std::uint64_t offset, std::size_t bytes) noexcept;

// The same for private memory without a file, mapped at `address` (whole pages).
bool drop_private(std::uintptr_t address, std::size_t bytes) noexcept;

// Offset of the first byte at or after `offset` that takes memory in a memory file; UINT64_MAX if there is
// none, 0 if the system does not report it.
std::uint64_t next_data(int file, std::uint64_t offset) noexcept;

Result<void> protect(void* address, std::size_t bytes, Protection protection);

}  // namespace musubi::os
