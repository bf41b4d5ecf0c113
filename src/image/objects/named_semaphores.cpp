#include "image/objects/named_semaphores.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "image/process/real_function.h"
#include "image/process/refused_call.h"
#include "image/process/remote_procedures.h"
#include "os/memory.h"

namespace musubi::image {

void NamedSemaphores::start(runtime::Runtime& runtime, Mappings& mappings) {
  runtime_ = &runtime;
  mappings_ = &mappings;
  next_open_ = reinterpret_cast<decltype(next_open_)>(next_definition("sem_open"));
  next_close_ = reinterpret_cast<decltype(next_close_)>(next_definition("sem_close"));
  if (runtime.ranks() > 1) runtime.remote_calls().serve(procedures::named_semaphores, *this);
}

sem_t* NamedSemaphores::open(const char* name, int flags, mode_t mode, unsigned value) noexcept {
  Request request{Kind::open, flags, mode, value, nullptr, {}};
  sem_t* semaphore = nullptr;
  int error = ENAMETOOLONG;
  if (runtime_->hosts().count() > 1) {
    report_refused_call("sem_open was refused: hosts do not share semaphores with names",
                        "use sem_init, whose semaphores all ranks share, or run on one host");
    error = ENOSYS;
  } else if (std::strlen(name) < name_bytes) {
    std::strcpy(request.name, name);
    error = -static_cast<int>(runtime_->remote_calls()
                                  .call(Rank{0}, procedures::named_semaphores,
                                        std::as_bytes(std::span(&request, 1)),
                                        std::as_writable_bytes(std::span(&semaphore, 1)))
                                  .status);
  }
  if (error == 0) return semaphore;
  errno = error;
  return SEM_FAILED;
}

int NamedSemaphores::close(sem_t* semaphore) noexcept {
  const Request request{Kind::close, 0, 0, 0, semaphore, {}};
  const runtime::Answer answer = runtime_->remote_calls().call(Rank{0}, procedures::named_semaphores,
                                                               std::as_bytes(std::span(&request, 1)), {});
  if (answer.status == 0) return 0;
  errno = -static_cast<int>(answer.status);
  return -1;
}

runtime::Answer NamedSemaphores::run(Rank, std::span<const std::byte> bytes,
                                     std::span<std::byte> reply) noexcept {
  Request request;
  if (bytes.size() != sizeof request) return {-EINVAL, 0};
  std::memcpy(&request, bytes.data(), sizeof request);
  request.name[name_bytes - 1] = 0;
  const std::lock_guard hold(changing_);
  if (request.kind == Kind::close) return {-close_here(request.semaphore), 0};
  sem_t* semaphore = nullptr;
  if (const int error = open_here(request, semaphore); error != 0) return {-error, 0};
  std::memcpy(reply.data(), &semaphore, sizeof semaphore);
  return {0, sizeof semaphore};
}

// The C library creates the file and reports errors.
int NamedSemaphores::open_here(const Request& request, sem_t*& semaphore) noexcept {
  sem_t* const plain = next_open_(request.name, request.flags, request.mode, request.value);
  if (plain == SEM_FAILED) return errno;
  const int error = map(request.name, semaphore);
  next_close_(plain);
  return error;
}

// Maps the file that the C library uses (sem_overview(7)).
int NamedSemaphores::map(const char* name, sem_t*& semaphore) noexcept {
  const std::string path = std::string("/dev/shm/sem.") + (name + std::strspn(name, "/"));
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
  const auto one = std::ranges::find_if(open_, [&](const Open& open) { return open.semaphore == semaphore; });
  if (one == open_.end()) return EINVAL;
  if (--one->count != 0) return 0;
  open_.erase(one);
  return mappings_->unmap(semaphore, sizeof *semaphore) == 0 ? 0 : errno;
}

}  // namespace musubi::image
