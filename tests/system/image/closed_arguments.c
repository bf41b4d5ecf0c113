// Calls about the process, its queues and its time, and system calls by number, with arguments in memory that
// is closed at the caller.
#define _GNU_SOURCE
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "closed_pages.h"

static const char* path;
static int queue, semaphores;
static mqd_t messages;

// Identities and scheduling
PREPARE(getresuid) {
  fill();
}
CALL(getresuid) {
  uid_t* id = page(0);
  IS(getresuid(id, page(1), page(2)) == 0 && *id == getuid() && *(uid_t*)page(2) == geteuid());
}

PREPARE(getresgid) {
  fill();
}
CALL(getresgid) {
  gid_t* id = page(1);
  IS(getresgid(page(0), id, page(2)) == 0 && *id == getegid());
}

PREPARE(getgroups) {
  fill();
}
CALL(getgroups) {
  gid_t here[64];
  const int number = getgroups(64, here);
  IS(getgroups(64, page(0)) == number && memcmp(here, page(0), number * sizeof *here) == 0);
}

PREPARE(sched_getparam) {
  fill();
}
CALL(sched_getparam) {
  struct sched_param here;
  IS(sched_getparam(0, &here) == 0 && sched_getparam(0, page(0)) == 0 &&
     memcmp(&here, page(0), sizeof here) == 0);
}

PREPARE(sched_setparam) {
  *(struct sched_param*)page(0) = (struct sched_param){0};
}
CALL(sched_setparam) {
  IS(sched_setparam(0, page(0)) == 0);
}

PREPARE(sched_setscheduler) {
  *(struct sched_param*)page(0) = (struct sched_param){0};
}
CALL(sched_setscheduler) {
  IS(sched_setscheduler(0, SCHED_OTHER, page(0)) == 0);
}

PREPARE(sched_rr_get_interval) {
  fill();
}
CALL(sched_rr_get_interval) {
  IS(sched_rr_get_interval(0, page(0)) == 0 && ((struct timespec*)page(0))->tv_nsec < 1000000000);
}

PREPARE(pthread_getaffinity) {
  fill();
}
CALL(pthread_getaffinity) {
  cpu_set_t here;
  IS(pthread_getaffinity_np(pthread_self(), sizeof here, &here) == 0 &&
     pthread_getaffinity_np(pthread_self(), sizeof here, page(0)) == 0 &&
     memcmp(&here, page(0), sizeof here) == 0);
}

PREPARE(sched_affinity) {
  sched_getaffinity(0, sizeof(cpu_set_t), page(0));
}
CALL(sched_affinity) {
  IS(sched_setaffinity(0, sizeof(cpu_set_t), page(0)) == 0);
}

PREPARE(pthread_setschedparam) {
  *(struct sched_param*)page(0) = (struct sched_param){0};
}
CALL(pthread_setschedparam) {
  IS(pthread_setschedparam(pthread_self(), SCHED_OTHER, page(0)) == 0);
}

PREPARE(thread_name) {
  strcpy(page(0), "closed");
}
CALL(thread_name) {
  IS(pthread_setname_np(pthread_self(), page(0)) == 0 &&
     pthread_getname_np(pthread_self(), page(1), 16) == 0 && strcmp(page(1), "closed") == 0);
}

PREPARE(prctl_name) {
  strcpy(page(0), "by prctl");
}
CALL(prctl_name) {
  IS(prctl(PR_SET_NAME, page(0)) == 0 && prctl(PR_GET_NAME, page(1)) == 0 &&
     strcmp(page(1), "by prctl") == 0);
}

PREPARE(getcpu) {
  fill();
}
CALL(getcpu) {
  IS(getcpu(page(0), page(1)) == 0 && *(unsigned*)page(0) < 1u << 16);
}

// Time and signals
PREPARE(adjtimex) {
  memset(page(0), 0, page_bytes);
}
CALL(adjtimex) {
  IS(adjtimex(page(0)) >= 0 && ((struct timex*)page(0))->tick > 0);
}

PREPARE(clock_adjtime) {
  memset(page(0), 0, page_bytes);
}
CALL(clock_adjtime) {
  IS(clock_adjtime(CLOCK_REALTIME, page(0)) >= 0 && ((struct timex*)page(0))->tick > 0);
}

PREPARE(thrd_sleep) {
  *(struct timespec*)page(0) = ((struct timespec){0, 1000});
}
CALL(thrd_sleep) {
  IS(thrd_sleep(page(0), page(1)) == 0);
}

PREPARE(nanosleep) {
  *(struct timespec*)page(0) = ((struct timespec){0, 1000});
}
CALL(nanosleep) {
  IS(nanosleep(page(0), page(1)) == 0);
}

PREPARE(sigpending) {
  fill();
}
CALL(sigpending) {
  IS(sigpending(page(0)) == 0 && sigismember(page(0), SIGUSR1) == 0);
}

PREPARE(sigtimedwait) {
  sigemptyset(page(0));
  sigaddset(page(0), SIGUSR2);
  *(struct timespec*)page(1) = (struct timespec){0, 1000};
}
CALL(sigtimedwait) {
  IS(sigtimedwait(page(0), page(2), page(1)) == -1 && errno == EAGAIN);
}

PREPARE(signalfd) {
  sigemptyset(page(0));
  sigaddset(page(0), SIGUSR2);
}
CALL(signalfd) {
  const int number = signalfd(-1, page(0), SFD_CLOEXEC);
  IS(number >= 0 && close(number) == 0);
}

// Queues
PREPARE(msgsnd_msgrcv) {
  *(long*)page(0) = 7;
  strcpy((char*)page(0) + sizeof(long), "by a queue");
  memset(page(1), 0, page_bytes);
}
CALL(msgsnd_msgrcv) {
  IS(msgsnd(queue, page(0), 11, 0) == 0 && msgrcv(queue, page(1), 64, 7, 0) == 11 &&
     strcmp((char*)page(1) + sizeof(long), "by a queue") == 0);
}

PREPARE(msgctl) {
  fill();
}
CALL(msgctl) {
  IS(msgctl(queue, IPC_STAT, page(0)) == 0 && ((struct msqid_ds*)page(0))->msg_qnum == 0);
}

PREPARE(semctl) {
  ((unsigned short*)page(0))[0] = 3;
  ((unsigned short*)page(0))[1] = 4;
  memset(page(1), 0, page_bytes);
}
CALL(semctl) {
  const unsigned short* values = page(1);
  IS(semctl(semaphores, 0, SETALL, page(0)) == 0 && semctl(semaphores, 0, GETALL, page(1)) == 0 &&
     values[0] == 3 && values[1] == 4 && semctl(semaphores, 0, IPC_STAT, page(2)) == 0 &&
     ((struct semid_ds*)page(2))->sem_nsems == 2);
}

PREPARE(semop) {
  *(struct sembuf*)page(0) = (struct sembuf){0, 5, 0};
  *(struct sembuf*)page(1) = (struct sembuf){0, -5, 0};
}
CALL(semop) {
  IS(semop(semaphores, page(0), 1) == 0 && semop(semaphores, page(1), 1) == 0);
}

PREPARE(mq) {
  strcpy(page(0), "by mq");
  memset(page(1), 0, page_bytes);
  *(struct timespec*)page(3) = (struct timespec){2000000000, 0};
}
CALL(mq) {
  IS(mq_send(messages, page(0), 6, 3) == 0 && mq_receive(messages, page(1), 64, page(2)) == 6 &&
     strcmp(page(1), "by mq") == 0 && *(unsigned*)page(2) == 3 &&
     mq_timedsend(messages, page(0), 6, 1, page(3)) == 0 &&
     mq_timedreceive(messages, page(1), 64, NULL, page(3)) == 6 && mq_getattr(messages, page(4)) == 0 &&
     ((struct mq_attr*)page(4))->mq_msgsize == 64);
}

PREPARE(mmsg) {
  struct mmsghdr* const list = page(0);
  struct iovec* const parts = page(1);
  memset(list, 0, 4 * sizeof *list);
  for (int i = 0; i < 4; i++) {
    sprintf(page(4 + i), "message %d", i);
    parts[i] = (struct iovec){page(4 + i), 10};
    list[i].msg_hdr.msg_iov = &parts[i];
    list[i].msg_hdr.msg_iovlen = 1;
  }
  strcpy(page(6), "");
  strcpy(page(7), "");
  *(struct timespec*)page(2) = (struct timespec){1, 0};
}
CALL(mmsg) {
  struct mmsghdr* const list = page(0);
  int sockets[2];
  IS(socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets) == 0 && sendmmsg(sockets[0], list, 2, 0) == 2 &&
     recvmmsg(sockets[1], list + 2, 2, 0, page(2)) == 2 && list[3].msg_len == 10 &&
     strcmp(page(7), "message 1") == 0 && close(sockets[0]) == 0 && close(sockets[1]) == 0);
}

PREPARE(process_memory) {
  strcpy(page(0), "of the process");
  memset(page(1), 0, page_bytes);
  *(struct iovec*)page(2) = (struct iovec){page(0), 15};
  *(struct iovec*)page(3) = (struct iovec){page(1), 15};
}
CALL(process_memory) {
  // A container may forbid it.
  IS((process_vm_readv(getpid(), page(3), 1, page(2), 1, 0) == 15 &&
      strcmp(page(1), "of the process") == 0) ||
     errno == EPERM || errno == ENOSYS);
}

// By number
PREPARE(number_getresuid) {
  fill();
}
CALL(number_getresuid) {
  IS(syscall(SYS_getresuid, page(0), page(1), page(2)) == 0 && *(uid_t*)page(1) == geteuid());
}

PREPARE(number_getcpu) {
  fill();
}
CALL(number_getcpu) {
  IS(syscall(SYS_getcpu, page(0), page(1), NULL) == 0 && *(unsigned*)page(0) < 1u << 16);
}

PREPARE(number_sched_getattr) {
  fill();
}
CALL(number_sched_getattr) {
  IS(syscall(SYS_sched_getattr, 0, page(0), 48, 0) == 0 && *(unsigned*)page(0) >= 48);
}

PREPARE(number_sched_setattr) {
  memset(page(0), 0, page_bytes);
  *(unsigned*)page(0) = 48;
}
CALL(number_sched_setattr) {
  IS(syscall(SYS_sched_setattr, 0, page(0), 0) == 0);
}

PREPARE(number_get_mempolicy) {
  fill();
}
CALL(number_get_mempolicy) {
  // Some kernels have no placement, and some containers forbid it.
  IS(syscall(SYS_get_mempolicy, page(0), page(1), 1024, NULL, 0) == 0 || errno == ENOSYS || errno == EPERM);
}

PREPARE(number_file) {
  strcpy(page(0), path);
}
CALL(number_file) {
  const int number = (int)syscall(SYS_openat, AT_FDCWD, page(0), O_RDONLY, 0);
  IS(number >= 0 && syscall(SYS_read, number, page(1), 5) == 5 && memcmp(page(1), "bytes", 5) == 0 &&
     syscall(SYS_pread64, number, page(2), 5, 0) == 5 && syscall(SYS_fstat, number, page(3)) == 0 &&
     syscall(SYS_newfstatat, AT_FDCWD, page(0), page(4), 0) == 0 && ((struct stat*)page(4))->st_size == 5 &&
     syscall(SYS_statx, AT_FDCWD, page(0), 0, STATX_SIZE, page(5)) == 0 && syscall(SYS_close, number) == 0);
}

PREPARE(number_time) {
  fill();
}
CALL(number_time) {
  IS(syscall(SYS_clock_gettime, CLOCK_REALTIME, page(0)) == 0 &&
     syscall(SYS_gettimeofday, page(1), NULL) == 0 && syscall(SYS_time, page(2)) == *(time_t*)page(2) &&
     *(time_t*)page(0) >= 1000000000);
}

PREPARE(number_process) {
  fill();
}
CALL(number_process) {
  IS(syscall(SYS_uname, page(0)) == 0 && strcmp(page(0), "Linux") == 0 &&
     syscall(SYS_getrusage, 0, page(1)) == 0 && syscall(SYS_getcwd, page(2), 4000) > 0 &&
     *(char*)page(2) == '/' && syscall(SYS_prlimit64, 0, 7, NULL, page(3)) == 0 &&
     syscall(SYS_rt_sigpending, page(4), 8) == 0 && syscall(SYS_getrandom, page(5), 16, 0) == 16);
}

PREPARE(number_waiting) {
  struct epoll_event* const event = page(0);
  memset(event, 0, sizeof *event);
  event->events = EPOLLOUT;
  memset(page(2), 0, page_bytes);
  *(struct timespec*)page(3) = (struct timespec){0, 1000};
  ((void**)page(4))[0] = page(5);
  ((size_t*)page(4))[1] = 8;
  memset(page(5), 0, 8);
}
CALL(number_waiting) {
  int ends[2];
  const int set = epoll_create1(0);
  int bad = set < 0 || syscall(SYS_pipe2, ends, 0) != 0;
  bad |= syscall(SYS_epoll_ctl, set, EPOLL_CTL_ADD, ends[1], page(0)) != 0;
  bad |= syscall(SYS_epoll_wait, set, page(1), 1, 1000) != 1 ||
         ((struct epoll_event*)page(1))->events != EPOLLOUT;
  bad |= syscall(SYS_pselect6, 1, page(2), NULL, NULL, page(3), page(4)) != 0;
  IS(!bad && close(set) == 0 && close(ends[0]) == 0 && close(ends[1]) == 0);
}

PREPARE(number_child) {
  fill();
}
CALL(number_child) {
  const pid_t child = fork();
  if (child == 0) _exit(3);
  IS(child > 0 && syscall(SYS_wait4, child, page(0), 0, page(1)) == child &&
     WEXITSTATUS(*(int*)page(0)) == 3);
}

PREPARE(number_signals) {
  memset(page(0), 0, page_bytes);
}
CALL(number_signals) {
  IS(syscall(SYS_rt_sigprocmask, SIG_BLOCK, page(0), page(1), 8) == 0 &&
     syscall(SYS_sigaltstack, NULL, page(2)) == 0);
}

int main(void) {
  char name[64];
  sprintf(name, "/tmp/closed_arguments_%d", (int)getpid());
  path = name;
  const int file = open(path, O_RDWR | O_CREAT, 0644);
  CHECK(file >= 0 && write(file, "bytes", 5) == 5);
  queue = msgget(IPC_PRIVATE, 0600);
  semaphores = semget(IPC_PRIVATE, 2, 0600);
  CHECK(queue >= 0 && semaphores >= 0);
  struct mq_attr limits = {.mq_maxmsg = 4, .mq_msgsize = 64};
  messages = mq_open(strrchr(name, '/'), O_CREAT | O_RDWR, 0600, &limits);
  CHECK(messages >= 0 && mq_unlink(strrchr(name, '/')) == 0);
  run_all(34);
  msgctl(queue, IPC_RMID, NULL);
  semctl(semaphores, 0, IPC_RMID);
  CHECK(unlink(path) == 0);
  printf("closed_arguments: passed\n");
  return 0;
}
