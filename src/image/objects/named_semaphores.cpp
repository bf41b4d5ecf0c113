#include "image/objects/named_semaphores.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "image/process/call_result.h"
#include "image/process/real_function.h"
#include "image/process/refusal.h"
#include "os/memory.h"

namespace musubi::image {
namespace {

constexpr std::size_t name_bytes = 256;

}  // namespace

void NamedSemaphores::start(runtime::Runtime& runtime, Mappings& mappings) {
  runtime_ = &runtime;
  mappings_ = &mappings;
  next_open_ = reinterpret_cast<decltype(next_open_)>(next_definition("sem_open"));
  next_close_ = reinterpret_cast<decltype(next_close_)>(next_definition("sem_close"));
  calls_.start(runtime, procedures::named_semaphores, *this);
}

sem_t* NamedSemaphores::open(const char* name, int flags, mode_t mode, unsigned value) noexcept {
  sem_t* semaphore = nullptr;
  int error = ENAMETOOLONG;
  if (runtime_->hosts().count() > 1) {
    report_refused_call("sem_open was refused: hosts do not share semaphores with names",
                        "use sem_init, whose semaphores all ranks share, or run on one host");
    error = ENOSYS;
  } else if (std::strlen(name) < name_bytes) {
    error = static_cast<int>(
        calls_.at<&NamedSemaphores::open_here>(Rank{0}, flags, mode, value, semaphore, name));
  }
  if (error == 0) return semaphore;
  errno = error;
  return SEM_FAILED;
}

int NamedSemaphores::close(sem_t* semaphore) noexcept {
  return fail(static_cast<int>(calls_.at<&NamedSemaphores::close_here>(Rank{0}, semaphore)));
}

// The C library creates the file and reports errors.
int NamedSemaphores::open_here(int flags, mode_t mode, unsigned value, sem_t*& semaphore,
                               std::string_view name) noexcept {
  const std::lock_guard hold(changing_);
  const std::string path(name);
  sem_t* const plain = next_open_(path.c_str(), flags, mode, value);
  if (plain == SEM_FAILED) return errno;
  const int error = map(path, semaphore);
  next_close_(plain);
  return error;
}

// Maps the file that the C library uses (sem_overview(7)).
int NamedSemaphores::map(const std::string& name, sem_t*& semaphore) noexcept {
  const std::string path = "/dev/shm/sem." + name.substr(std::min(name.find_first_not_of('/'), name.size()));
  const os::FileDescriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  struct stat status {};
  if (file.number() < 0 || ::fstat(file.number(), &status) != 0) return errno;
  for (Open& one : open_) {
    if (one.device != status.st_dev || one.file != status.st_ino) continue;
    ++one.count;
    semaphore = one.semaphore;
    return 0;
  }
  void* const memory =
      mappings_->map({nullptr, sizeof(sem_t), PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0});
  if (memory == MAP_FAILED) return errno;
  semaphore = static_cast<sem_t*>(memory);
  open_.push_back({status.st_dev, status.st_ino, semaphore, 1});
  return 0;
}

int NamedSemaphores::close_here(sem_t* semaphore) noexcept {
  const std::lock_guard hold(changing_);
  const auto one = std::ranges::find_if(open_, [&](const Open& open) { return open.semaphore == semaphore; });
  if (one == open_.end()) return EINVAL;
  if (--one->count != 0) return 0;
  open_.erase(one);
  return mappings_->unmap(semaphore, sizeof *semaphore) == 0 ? 0 : errno;
}

}  // namespace musubi::image
