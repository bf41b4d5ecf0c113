// Chunks of a text go through stages as in a program that compresses: one thread makes them, several shorten
// runs of letters, several check by expanding again, one puts the results in order. Between the stages are
// bounded queues with conditions. Usage: pipeline [threads of a middle stage] [chunks].
#include "thread_team.h"

enum { room = 4, chunk_bytes = 4000 };

struct chunk {
  int number, length;
  char* text;       // from malloc, by the first stage
  char* shortened;  // pairs of a letter and a count
};

struct queue {
  struct chunk* chunks[room];
  int first, count, writers;  // stages that still put chunks in
  pthread_mutex_t guard;
  pthread_cond_t filled, emptied;
};

static struct queue made, shortened, checked;
static int chunks;
static long total_letters, total_shortened;

static void open_queue(struct queue* queue, int writers) {
  *queue = (struct queue){.writers = writers};
  CHECK(pthread_mutex_init(&queue->guard, NULL) == 0);
  CHECK(pthread_cond_init(&queue->filled, NULL) == 0 && pthread_cond_init(&queue->emptied, NULL) == 0);
}

static void put(struct queue* queue, struct chunk* chunk) {
  pthread_mutex_lock(&queue->guard);
  while (queue->count == room) pthread_cond_wait(&queue->emptied, &queue->guard);
  queue->chunks[(queue->first + queue->count++) % room] = chunk;
  pthread_cond_signal(&queue->filled);
  pthread_mutex_unlock(&queue->guard);
}

// NULL when the queue is empty and stays so.
static struct chunk* take(struct queue* queue) {
  struct chunk* chunk = NULL;
  pthread_mutex_lock(&queue->guard);
  while (queue->count == 0 && queue->writers > 0) pthread_cond_wait(&queue->filled, &queue->guard);
  if (queue->count > 0) {
    chunk = queue->chunks[queue->first];
    queue->first = (queue->first + 1) % room;
    --queue->count;
    pthread_cond_signal(&queue->emptied);
  }
  pthread_mutex_unlock(&queue->guard);
  return chunk;
}

static void end_writer(struct queue* queue) {
  pthread_mutex_lock(&queue->guard);
  if (--queue->writers == 0) pthread_cond_broadcast(&queue->filled);
  pthread_mutex_unlock(&queue->guard);
}

static char letter(int number, int place) {
  return (char)('a' + (place / (1 + number % 7)) * 31 % 23);
}

static void* make(void* unused) {
  for (int number = 0; number < chunks; ++number) {
    struct chunk* chunk = calloc(1, sizeof *chunk);
    CHECK(chunk != NULL && (chunk->text = malloc(chunk_bytes)) != NULL);
    chunk->number = number;
    for (int i = 0; i < chunk_bytes; ++i) chunk->text[i] = letter(number, i);
    put(&made, chunk);
  }
  end_writer(&made);
  return unused;
}

static void* shorten(void* unused) {
  for (struct chunk* chunk; (chunk = take(&made)) != NULL;) {
    CHECK((chunk->shortened = malloc(2 * chunk_bytes)) != NULL);
    for (int i = 0; i < chunk_bytes;) {
      int end = i + 1;
      while (end < chunk_bytes && end - i < 100 && chunk->text[end] == chunk->text[i]) ++end;
      chunk->shortened[chunk->length++] = chunk->text[i];
      chunk->shortened[chunk->length++] = (char)(end - i);
      i = end;
    }
    put(&shortened, chunk);
  }
  end_writer(&shortened);
  return unused;
}

static void* expand(void* unused) {
  for (struct chunk* chunk; (chunk = take(&shortened)) != NULL;) {
    int place = 0;
    for (int i = 0; i < chunk->length; i += 2) {
      for (int k = 0; k < chunk->shortened[i + 1]; ++k) CHECK(chunk->text[place++] == chunk->shortened[i]);
    }
    CHECK(place == chunk_bytes);
    put(&checked, chunk);
  }
  end_writer(&checked);
  return unused;
}

static void* collect(void* unused) {
  struct chunk** early = calloc((size_t)chunks, sizeof *early);
  CHECK(early != NULL);
  int next = 0;
  for (struct chunk* chunk; (chunk = take(&checked)) != NULL;) {
    early[chunk->number] = chunk;
    for (; next < chunks && early[next] != NULL; ++next) {
      total_letters += chunk_bytes;
      total_shortened += early[next]->length;
      CHECK(early[next]->text[chunk_bytes - 1] == letter(next, chunk_bytes - 1));
      free(early[next]->text);
      free(early[next]->shortened);
      free(early[next]);
    }
  }
  CHECK(next == chunks);
  free(early);
  return unused;
}

int main(int argc, char** argv) {
  const int middle = number_of(argc, argv, 1, 2, team_max / 4);
  chunks = number_of(argc, argv, 2, 60, 1 << 24);
  open_queue(&made, 1);
  open_queue(&shortened, middle);
  open_queue(&checked, middle);
  const double start = seconds();
  pthread_t threads[team_max];
  int started = 0;
  CHECK(pthread_create(&threads[started++], NULL, make, NULL) == 0);
  for (int i = 0; i < middle; ++i) CHECK(pthread_create(&threads[started++], NULL, shorten, NULL) == 0);
  for (int i = 0; i < middle; ++i) CHECK(pthread_create(&threads[started++], NULL, expand, NULL) == 0);
  CHECK(pthread_create(&threads[started++], NULL, collect, NULL) == 0);
  for (int i = 0; i < started; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK(total_letters == (long)chunks * chunk_bytes && total_shortened > 0);
  printf("pipeline: %ld letters to %ld bytes, %d threads, time %.6f s\n", total_letters, total_shortened,
         started, seconds() - start);
  return 0;
}
