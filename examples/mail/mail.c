#include "mail.h"

#include <musubi/gheap.h>
#include <musubi/musubi.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* Precedes each message, at a multiple of 16. `state` is put last: a message has arrived when it is not
 * `absent`.
 */
enum { absent = 0, arrived = 1, taken = 2, short_bytes = 1024 };
struct header {
  uint64_t state;
  uint64_t bytes;
  int source;
  int tag;
  uint64_t unused;
};

static char* inbox;     /* this process's heap */
static long heap_bytes; /* size of each heap */
static long first;      /* the first message that has not been taken; all messages before it have */

static long room_of(size_t bytes) {
  return (long)(sizeof(struct header) + (bytes + 15) / 16 * 16);
}

/* First the thread polls, then it sleeps. It never yields: among computing threads a yield would cost it
 * one of their time slices. */
static void wait_a_little(unsigned* turns) {
  if (++*turns >= 2000) usleep(20);
}

int mail_open(long bytes) {
  if (ginit(bytes) != 0) return -1;
  heap_bytes = bytes;
  first = 0;
  inbox = musubi_gaddress(musubi_rank(), 0);
  return musubi_barrier() == MUSUBI_OK ? 0 : -1;
}

/* All messages have been taken: the memory is free again. Later messages expect zeros there. */
static void start_anew(void) {
  if (first == 0) return;
  long low = 0;
  gglimit(musubi_rank(), &low, NULL);
  if (low != first) return;
  memset(inbox, 0, (size_t)first);
  if (gbrk(musubi_rank(), first, 0) == 0) first = 0;
}

/* The next untaken message from `*place` on, or null: it has not arrived. */
static struct header* look(long* place) {
  while (*place + (long)sizeof(struct header) <= heap_bytes) {
    struct header* const header = (struct header*)(inbox + *place);
    const uint64_t state = __atomic_load_n(&header->state, __ATOMIC_ACQUIRE);
    if (state == absent) return NULL;
    if (state == arrived) return header;
    *place += room_of(header->bytes);
  }
  return NULL;
}

static struct header* find(int source, int tag) {
  struct header* header;
  look(&first);
  for (long place = first; (header = look(&place)) != NULL; place += room_of(header->bytes)) {
    if ((source == MAIL_ANY || source == header->source) && (tag == MAIL_ANY || tag == header->tag))
      return header;
  }
  return NULL;
}

static void describe(const struct header* header, struct mail_note* note) {
  if (note == NULL) return;
  note->source = header->source;
  note->tag = header->tag;
  note->bytes = header->bytes;
}

/* A short message is put in one piece: over a network each put is a trip. */
static int put_letter(int process, long place, const struct header* header, const void* message) {
  struct {
    struct header header;
    char message[short_bytes];
  } letter;
  letter.header = *header;
  if (header->bytes <= short_bytes) {
    memcpy(letter.message, message, header->bytes);
    return musubi_gput(process, place, &letter, sizeof *header + header->bytes);
  }
  if (musubi_gput(process, place, header, sizeof *header) != 0) return -1;
  return musubi_gput(process, place + (long)sizeof *header, message, header->bytes);
}

int mail_send(int process, int tag, const void* message, size_t bytes) {
  const long room = room_of(bytes);
  if (room > heap_bytes || tag < 0) return -1;
  unsigned turns = 0;
  long place;
  while ((place = sgbrk(process, room)) < 0) {
    if (musubi_gerror() != MUSUBI_GHEAP_FULL) return -1;
    /* The receiver may be sending to this process, and wait for this heap. */
    look(&first);
    start_anew();
    wait_a_little(&turns);
  }
  const struct header header = {absent, bytes, musubi_rank(), tag, 0};
  if (put_letter(process, place, &header, message) != 0) return -1;
  const uint64_t state = arrived;
  return musubi_gput(process, place, &state, sizeof state);
}

int mail_receive(int source, int tag, void* message, size_t bytes, struct mail_note* note) {
  unsigned turns = 0;
  struct header* header;
  while ((header = find(source, tag)) == NULL) wait_a_little(&turns);
  describe(header, note);
  if (header->bytes > bytes) return -1;
  memcpy(message, header + 1, header->bytes);
  header->state = taken;
  look(&first);
  start_anew();
  return 0;
}

int mail_probe(int source, int tag, struct mail_note* note) {
  const struct header* const header = find(source, tag);
  if (header == NULL) return 0;
  describe(header, note);
  return 1;
}
