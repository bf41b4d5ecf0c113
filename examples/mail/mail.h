/* Eager messages over global heaps, as the paper of the asynchronous global heap proposes them (Ajima et
 * al.): the sender allocates memory at the receiver and puts the message there. No receive need be posted,
 * nothing is announced, and the receiver's processor takes no part.
 *
 * Messages have the order in which their senders moved the receiver's break, so the heap itself is the
 * queue. A receiver that has taken everything moves its break back to the beginning; if a message arrived
 * since it read the break, that value is stale, the call does nothing, and the receiver tries again later.
 *
 * One thread of each process calls these functions, between musubi_init and musubi_finalize. The global
 * heap belongs to this library.
 */
#ifndef MAIL_H
#define MAIL_H

#include <stddef.h>

enum { MAIL_ANY = -1 };

struct mail_note {
  int source;
  int tag;
  size_t bytes;
};

/* Collective. Each process holds up to `bytes` of messages that are not yet received. Result: 0, or -1. */
int mail_open(long bytes);
/* Returns when the message is at the receiver. Waits while the receiver's heap is full. `tag` is not
 * negative. Result: 0, or -1: no such process, or a message that is larger than the heap. */
int mail_send(int process, int tag, const void* message, size_t bytes);
/* Waits for the first message with this source and tag (or MAIL_ANY), copies up to `bytes` of it, and
 * removes it. `note` may be null. Result: 0, or -1: the message is longer, and stays. */
int mail_receive(int source, int tag, void* message, size_t bytes, struct mail_note* note);
/* Whether such a message has arrived. Never waits. */
int mail_probe(int source, int tag, struct mail_note* note);

#endif
