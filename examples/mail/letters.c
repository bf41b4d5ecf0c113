/* Eager messages that their receivers do not expect: each rank sends every other rank many letters of all
 * sizes, and reads its own only afterwards, by source, those with odd numbers first.
 *
 *   musubi run -n 4 letters
 */
#include <musubi/musubi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mail.h"

enum { letters = 200, longest = 3000, heap = 4 << 20, odd = 1, even = 0 };

static void require(int holds, const char* what) {
  if (!holds) musubi_abort(1, what);
}

static size_t length_of(int source, int number) {
  return (size_t)(source * 131 + number * 37) % longest;
}

static void write_letter(char* text, int source, int number) {
  memset(text, 'a' + (source + number) % 26, length_of(source, number));
}

static void read_letters(int source, int tag) {
  static char text[longest], expected[longest];
  for (int number = tag; number < letters; number += 2) {
    struct mail_note note;
    require(mail_receive(source, tag, text, sizeof text, &note) == 0, "a letter is too long");
    write_letter(expected, source, number);
    require(note.source == source && note.tag == tag && note.bytes == length_of(source, number),
            "a letter of somebody else");
    require(memcmp(text, expected, note.bytes) == 0, "a letter with other words");
  }
}

int main(int argc, char** argv) {
  if (musubi_init(&argc, &argv) != MUSUBI_OK) return 1;
  const int rank = musubi_rank(), ranks = musubi_size();
  require(mail_open(heap) == 0, "no heap for letters");
  static char text[longest];
  size_t sent = 0;
  for (int number = 0; number < letters; ++number) {
    for (int to = 0; to < ranks; ++to) {
      write_letter(text, rank, number);
      require(mail_send(to, number % 2, text, length_of(rank, number)) == 0, "a letter cannot be sent");
      sent += length_of(rank, number);
    }
  }
  for (int from = ranks - 1; from >= 0; --from) {
    read_letters(from, odd);
    read_letters(from, even);
  }
  require(mail_probe(MAIL_ANY, MAIL_ANY, NULL) == 0, "a letter too many");
  musubi_barrier();
  if (rank == 0)
    printf("%d letters to each of %d ranks, %zu bytes from each: all read\n", letters, ranks, sent);
  return musubi_finalize(0);
}
