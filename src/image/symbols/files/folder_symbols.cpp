// Directory streams. The C library's own are private to a process: in a job of several ranks a stream is
// an object in the shared heap, which any rank can continue to read through a descriptor that any rank can
// use.
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <new>

#include "heap/heap.h"
#include "image/start/job.h"
#include "image/symbols/exported.h"
#include "image/symbols/far_functions.h"
#include "image/symbols/kernel_access.h"
#include "os/system_call.h"

using namespace musubi::image;

namespace {

using musubi::heap::process_heap;

class Folder {
 public:
  explicit Folder(int file) noexcept : file_(file) {}
  int file() const noexcept { return file_; }

  // Null at the end; null with errno on an error.
  dirent* next() noexcept {
    const Held held(*this);
    if (at_ == end_ && !fill()) return nullptr;
    auto* const entry = reinterpret_cast<dirent*>(data_ + at_);
    at_ += entry->d_reclen;
    position_ = entry->d_off;
    return entry;
  }
  long position() noexcept {
    const Held held(*this);
    return position_;
  }
  void move_to(long position) noexcept {
    const Held held(*this);
    ::lseek(file_, position, SEEK_SET);
    position_ = position;
    at_ = end_ = 0;
  }

 private:
  // Holds the stream's mutex, a lock of the job.
  class Held {
   public:
    explicit Held(Folder& folder) noexcept : folder_(folder) { ::pthread_mutex_lock(&folder_.lock_); }
    ~Held() { ::pthread_mutex_unlock(&folder_.lock_); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

   private:
    Folder& folder_;
  };

  // Reads into the stack, whose blocks stay open. If the target closed during the call, the kernel would
  // return EFAULT but have advanced the position, and entries would be lost.
  bool fill() noexcept {
    alignas(dirent) char entries[sizeof data_];
    const int kept_errno = errno;
    KernelAccess access(*job_of_memory());
    access.file(file_).writes(entries, sizeof entries);
    const long bytes =
        access.far()
            ? far_entries(access, entries)
            : musubi::os::system_call(SYS_getdents64, file_, reinterpret_cast<long>(entries), sizeof entries);
    errno = bytes < 0 ? static_cast<int>(-bytes) : kept_errno;
    at_ = 0;
    end_ = bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
    std::memcpy(data_, entries, end_);
    return bytes > 0;
  }

  // Reads a directory that a rank of another host has open.
  long far_entries(KernelAccess& access, char* entries) noexcept {
    constexpr std::size_t bytes = 1536;  // of one message
    const std::array<std::uint64_t, 3> arguments{to_word(file_), to_word(entries), bytes};
    const std::int64_t result =
        call_far(*job_of_memory(), access, {far_number(OwnWrapper::getdents64), arguments},
                 [&](KernelAccess& noting) { noting.writes(entries, bytes); });
    return result < 0 ? -errno : result;
  }

  pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
  const int file_;
  long position_ = 0;  // of the entry after the last one returned
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  alignas(dirent) char data_[4096];
};

// Null for a stream of the C library.
Folder* folder_of(DIR* stream) noexcept {
  return job_of_memory() != nullptr && process_heap.is_shared(stream) ? reinterpret_cast<Folder*>(stream)
                                                                      : nullptr;
}

DIR* open_folder(int file) noexcept {
  void* const memory = process_heap.allocate_shared(sizeof(Folder));
  if (memory == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  return reinterpret_cast<DIR*>(new (memory) Folder(file));
}

constinit Next<DIR* (*)(const char*)> next_opendir("opendir");
constinit Next<DIR* (*)(int)> next_fdopendir("fdopendir");
constinit Next<int (*)(DIR*)> next_closedir("closedir"), next_dirfd("dirfd");
constinit Next<dirent* (*)(DIR*)> next_readdir("readdir");
constinit Next<int (*)(DIR*, dirent*, dirent**)> next_readdir_r("readdir_r");
constinit Next<void (*)(DIR*)> next_rewinddir("rewinddir");
constinit Next<void (*)(DIR*, long)> next_seekdir("seekdir");
constinit Next<long (*)(DIR*)> next_telldir("telldir");

int close_plainly(DIR* stream) noexcept {
  Job* const job = job_of_ranks();
  if (job == nullptr) return next_closedir.get()(stream);
  const int number = next_dirfd.get()(stream);
  job->descriptors.let_go_elsewhere(number);
  const int result = next_closedir.get()(stream);
  job->descriptors.let_go_elsewhere(number);
  return result;
}

dirent* read_entry(DIR* stream) noexcept {
  Folder* const folder = folder_of(stream);
  return folder == nullptr ? next_readdir.get()(stream) : folder->next();
}

// Result: 0 or an error number.
int read_entry_into(DIR* stream, dirent* entry, dirent** result) noexcept {
  Folder* const folder = folder_of(stream);
  if (folder == nullptr) return next_readdir_r.get()(stream, entry, result);
  const int kept_errno = errno;
  errno = 0;
  const dirent* const found = folder->next();
  const int error = errno;
  errno = kept_errno;
  *result = nullptr;
  if (found == nullptr) return error;
  std::memcpy(entry, found, found->d_reclen);
  *result = entry;
  return 0;
}

}  // namespace

MUSUBI_EXPORT DIR* opendir(const char* path) {
  if (Job* const job = job_of_memory()) KernelAccess(*job).text(path);
  if (job_of_ranks() == nullptr) return next_opendir.get()(path);
  const int file = ::open(path, O_RDONLY | O_NONBLOCK | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return nullptr;
  DIR* const stream = open_folder(file);
  if (stream == nullptr) ::close(file);
  return stream;
}
MUSUBI_EXPORT DIR* fdopendir(int file) {
  if (job_of_ranks() == nullptr) return next_fdopendir.get()(file);
  struct stat status {};
  if (::fstat(file, &status) != 0) return nullptr;
  if (!S_ISDIR(status.st_mode)) {
    errno = ENOTDIR;
    return nullptr;
  }
  return open_folder(file);
}
MUSUBI_EXPORT int closedir(DIR* stream) {
  Folder* const folder = folder_of(stream);
  if (folder == nullptr) return close_plainly(stream);
  const int file = folder->file();
  process_heap.release(folder);
  return ::close(file);
}
MUSUBI_EXPORT int dirfd(DIR* stream) noexcept {
  Folder* const folder = folder_of(stream);
  return folder == nullptr ? next_dirfd.get()(stream) : folder->file();
}

// dirent.h may map readdir64 to readdir; the layouts are equal. The wrappers therefore have names of their
// own.
static_assert(sizeof(dirent) == sizeof(dirent64));
MUSUBI_WRAPPER(dirent*, readdir, (DIR * stream)) {
  return read_entry(stream);
}
MUSUBI_WRAPPER(dirent*, readdir64, (DIR * stream)) {
  return read_entry(stream);
}
MUSUBI_WRAPPER(int, readdir_r, (DIR * stream, dirent* entry, dirent** result)) {
  return read_entry_into(stream, entry, result);
}
MUSUBI_WRAPPER(int, readdir64_r, (DIR * stream, dirent* entry, dirent** result)) {
  return read_entry_into(stream, entry, result);
}

MUSUBI_EXPORT void rewinddir(DIR* stream) noexcept {
  Folder* const folder = folder_of(stream);
  folder == nullptr ? next_rewinddir.get()(stream) : folder->move_to(0);
}
MUSUBI_EXPORT void seekdir(DIR* stream, long position) noexcept {
  Folder* const folder = folder_of(stream);
  folder == nullptr ? next_seekdir.get()(stream, position) : folder->move_to(position);
}
MUSUBI_EXPORT long telldir(DIR* stream) noexcept {
  Folder* const folder = folder_of(stream);
  return folder == nullptr ? next_telldir.get()(stream) : folder->position();
}
