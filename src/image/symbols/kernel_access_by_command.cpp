// Memory of calls whose arguments depend on a command.
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/mount.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/quota.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <unistd.h>

#include <algorithm>

#include "image/symbols/kernel_access.h"
#include "os/system_call.h"

namespace musubi::image {
namespace {

template <class Type = void>
Type* pointer_in(unsigned long word) noexcept {
  return reinterpret_cast<Type*>(word);
}

std::size_t semaphores_in(int set) noexcept {
  semid_ds state{};
  const long result = os::system_call(SYS_semctl, set, 0, IPC_STAT, os::as_argument(&state));
  return result < 0 ? 0 : state.sem_nsems;
}

}  // namespace

KernelAccess& KernelAccess::handle(const file_handle* handle) noexcept {
  return handle == nullptr ? *this : writes(handle, sizeof *handle + handle->handle_bytes);
}

KernelAccess& KernelAccess::sized_mask(const void* mask) noexcept {
  struct SizedMask {
    const void* set;
    std::size_t bytes;
  };
  const auto* const sized = static_cast<const SizedMask*>(mask);
  return sized == nullptr ? *this : reads(sized->set, sized->bytes).reads(sized, sizeof *sized);
}

KernelAccess& KernelAccess::requests(iocb* const* list, long count) noexcept {
  for (long i = 0; list != nullptr && i < count; ++i) {
    const iocb* const request = list[i];
    if (request == nullptr) continue;
    const auto parts = static_cast<long>(request->aio_nbytes);
    switch (request->aio_lio_opcode) {
      case IOCB_CMD_PREAD:
        writes(pointer_in(request->aio_buf), request->aio_nbytes);
        break;
      case IOCB_CMD_PWRITE:
        reads(pointer_in(request->aio_buf), request->aio_nbytes);
        break;
      case IOCB_CMD_PREADV:
        writes_parts(pointer_in<const iovec>(request->aio_buf), parts);
        break;
      case IOCB_CMD_PWRITEV:
        reads_parts(pointer_in<const iovec>(request->aio_buf), parts);
        break;
      default:
        break;
    }
    file_if_open(static_cast<int>(request->aio_fildes)).writes(request, sizeof *request);
  }
  return reads(list, count > 0 ? static_cast<std::size_t>(count) * sizeof *list : 0);
}

KernelAccess& KernelAccess::parts_there(pid_t process, const iovec* parts, unsigned long count,
                                        bool for_writing) noexcept {
  if (process == ::getpid()) return touch_parts(parts, static_cast<long>(count), for_writing);
  return reads(parts, count * sizeof *parts);
}

KernelAccess& KernelAccess::setting_of_file_system(unsigned command, const void* value, int number) noexcept {
  switch (command) {
    case FSCONFIG_SET_STRING:
    case FSCONFIG_SET_PATH:
    case FSCONFIG_SET_PATH_EMPTY:
      return text(static_cast<const char*>(value));
    case FSCONFIG_SET_BINARY:
      return reads(value, static_cast<std::size_t>(std::max(number, 0)));
    default:
      return *this;
  }
}

KernelAccess& KernelAccess::quota(int command, void* data) noexcept {
  constexpr unsigned command_shift = 8;
  if (static_cast<unsigned>(command) >> command_shift == Q_QUOTAON) return text(static_cast<char*>(data));
  return writes(data, sizeof(dqblk));
}

KernelAccess& KernelAccess::process_option(int option, unsigned long first, unsigned long second) noexcept {
  constexpr std::size_t name_bytes = 16;
  switch (option) {
    case PR_SET_NAME:
      return text(pointer_in<const char>(first));
    case PR_GET_NAME:
      return writes(pointer_in(first), name_bytes);
    case PR_GET_PDEATHSIG:
    case PR_GET_TSC:
    case PR_GET_UNALIGN:
    case PR_GET_FPEMU:
    case PR_GET_FPEXC:
    case PR_GET_ENDIAN:
    case PR_GET_CHILD_SUBREAPER:
      return writes(pointer_in(first), sizeof(int));
    case PR_GET_TID_ADDRESS:
      return writes(pointer_in(first), sizeof(void*));
    case PR_SET_SECCOMP:
      return first == SECCOMP_MODE_FILTER ? seccomp(SECCOMP_SET_MODE_FILTER, pointer_in(second)) : *this;
    default:
      return *this;
  }
}

KernelAccess& KernelAccess::traced(int request, const void* address, void* data) noexcept {
  const auto bytes = reinterpret_cast<std::size_t>(address);
  switch (request) {
    case PTRACE_GETREGS:
    case PTRACE_SETREGS:
      return writes(data, sizeof(user_regs_struct));
    case PTRACE_GETFPREGS:
    case PTRACE_SETFPREGS:
      return writes(data, sizeof(user_fpregs_struct));
    case PTRACE_GETREGSET:
    case PTRACE_SETREGSET:
      return writes_parts(static_cast<const iovec*>(data), 1).writes(data, sizeof(iovec));
    case PTRACE_GETEVENTMSG:
      return writes(data, sizeof(long));
    case PTRACE_GETSIGINFO:
    case PTRACE_SETSIGINFO:
      return writes(data, sizeof(siginfo_t));
    case PTRACE_GETSIGMASK:
    case PTRACE_SETSIGMASK:
    case PTRACE_GET_SYSCALL_INFO:
      return writes(data, bytes);
    default:
      return *this;
  }
}

KernelAccess& KernelAccess::semaphores(int set, int command, void* argument) noexcept {
  switch (command) {
    case IPC_STAT:
    case IPC_SET:
    case SEM_STAT:
    case SEM_STAT_ANY:
      return writes(argument, sizeof(semid_ds));
    case IPC_INFO:
    case SEM_INFO:
      return writes(argument, sizeof(seminfo));
    case GETALL:
    case SETALL:
      return writes(argument, semaphores_in(set) * sizeof(unsigned short));
    default:
      return *this;
  }
}

KernelAccess& KernelAccess::key(int operation, unsigned long a, unsigned long b, unsigned long c) noexcept {
  switch (operation) {
    case KEYCTL_JOIN_SESSION_KEYRING:
      return text(pointer_in<const char>(a));
    case KEYCTL_SEARCH:
      return text(pointer_in<const char>(b)).text(pointer_in<const char>(c));
    case KEYCTL_UPDATE:
    case KEYCTL_INSTANTIATE:
      return reads(pointer_in(b), c);
    case KEYCTL_DESCRIBE:
    case KEYCTL_READ:
    case KEYCTL_GET_SECURITY:
      return writes(pointer_in(b), c);
    default:
      return *this;
  }
}

KernelAccess& KernelAccess::seccomp(unsigned operation, const void* argument) noexcept {
  const auto* const program = static_cast<const sock_fprog*>(argument);
  if (program == nullptr) return *this;
  switch (operation) {
    case SECCOMP_SET_MODE_FILTER:
      return reads(program->filter, program->len * sizeof *program->filter).reads(program, sizeof *program);
    case SECCOMP_GET_ACTION_AVAIL:
      return reads(argument, sizeof(unsigned));
    case SECCOMP_GET_NOTIF_SIZES:
      return writes(argument, sizeof(seccomp_notif_sizes));
    default:
      return *this;
  }
}

}  // namespace musubi::image
