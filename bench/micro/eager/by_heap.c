/* Over the global heap of the receiver (examples/mail). */
#include <musubi/musubi.h>

#include "eager.h"
#include "mail.h"

const char* const eager_name = "musubi heap";
const size_t eager_bytes_max = 1 << 20;

static int other;

static void require(int result) {
  if (result != 0) musubi_abort(1, "a message over the heap");
}

int eager_begin(int* argc, char*** argv) {
  require(musubi_init(argc, argv));
  require(musubi_size() == 2 ? 0 : 1);
  require(mail_open(16 << 20));
  other = 1 - musubi_rank();
  return musubi_rank();
}
void eager_send(const void* message, size_t bytes) {
  require(mail_send(other, 0, message, bytes));
}
void eager_receive(void* message, size_t bytes) {
  require(mail_receive(other, 0, message, bytes, NULL));
}
void eager_meet(void) {
  require(musubi_barrier());
}
void eager_end(void) {
  require(musubi_finalize(0));
}
