/* A small program of sms.h: each process writes its part of an array, all add it up, and a lock guards the
 * largest part. As in the paper, memory first, then barriers, then locks.
 *   musubi run -n 4 small        or        small -- -n 4
 */
#include <sms.h>
#include <stdio.h>

enum { numbers = 1000, sum_lock = 0 };

int main(int argc, char** argv) {
  sms_startup(argc, argv);
  int* squares = (int*)sms_calloc(numbers, sizeof(int), 0);
  long* sum = (long*)sms_calloc(1, sizeof(long), 0);

  const int first = numbers * sms_proc_id / sms_nproc, end = numbers * (sms_proc_id + 1) / sms_nproc;
  for (int i = first; i < end; i++) squares[i] = i * i;
  sms_barrier(0);

  long part = 0; /* the sum of the next process's part */
  const int next = (sms_proc_id + 1) % sms_nproc;
  for (int i = numbers * next / sms_nproc; i < numbers * (next + 1) / sms_nproc; i++) part += squares[i];
  sms_lock(sum_lock);
  *sum += part;
  sms_unlock(sum_lock);
  sms_barrier(0);

  if (sms_proc_id == 0) printf("%d processes: %ld\n", sms_nproc, *sum);
  if (*sum != 332833500) sms_error("the sum is wrong");
  sms_shutdown();
  return 0;
}
