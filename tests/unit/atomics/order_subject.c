// Functions with one atomic instruction each, compiled at several levels, which use its result in different
// ways.
#include "order_subject.h"

static double sum_of_doubles;
static float sum_of_floats;
static int count_of_ints;
static short shifted;
static long word;
static struct node* head;

struct node {
  struct node* next;
};

void FUNCTION(add_to_double)(double value) {
#pragma omp atomic
  sum_of_doubles += value;
}
void FUNCTION(divide_by_double)(double value) {
#pragma omp atomic
  sum_of_doubles = value / sum_of_doubles;
}
void FUNCTION(add_to_float)(float value) {
#pragma omp atomic
  sum_of_floats += value;
}
void FUNCTION(multiply_int)(int value) {
#pragma omp atomic
  count_of_ints *= value;
}
void FUNCTION(shift_short)(int value) {
#pragma omp atomic
  shifted <<= value;
}
void FUNCTION(add_to_int)(int value) {
#pragma omp atomic
  count_of_ints += value;
}

int FUNCTION(take_place)(long* list, long value) {
  list[__atomic_fetch_add(&word, 1, __ATOMIC_RELAXED)] = value;
  return 0;
}
int FUNCTION(take_places)(long* list, const int* values, long count) {
  for (long i = 0; i < count; i++)
    list[__atomic_fetch_add(&count_of_ints, 2, __ATOMIC_RELAXED) + 5] = values[i];
  return 0;
}
// The function may return it.
void FUNCTION(take_place_at_the_end)(long* list, long value) {
  list[__atomic_fetch_add(&word, 1, __ATOMIC_RELAXED)] = value;
}
long FUNCTION(take_last_place)(long* list, long value) {
  const long place = __atomic_fetch_add(&word, 1, __ATOMIC_RELAXED);
  list[place] = value;
  return place;
}
void FUNCTION(take_place_if_room)(long* list, long value) {
  const long place = __atomic_fetch_add(&word, 1, __ATOMIC_RELAXED);
  if (place < 100) list[place] = value;
}
void FUNCTION(take_place_of_other)(long* list, long value) {
  const long place = __atomic_fetch_add(&word, 1, __ATOMIC_RELAXED);
  list[place] += value;
}
void note_place(long* place, long value);
void FUNCTION(take_place_and_tell)(long* list, long value) {
  note_place(&list[__atomic_fetch_add(&word, 1, __ATOMIC_RELAXED)], value);
}
void FUNCTION(take_place_and_note)(long* list, long* place, long value) {
  *place = __atomic_fetch_add(&word, 1, __ATOMIC_RELAXED);
  list[*place] = value;
}

long FUNCTION(take_ticket)(void) {
  return __atomic_fetch_add(&word, 1, __ATOMIC_SEQ_CST);
}
int FUNCTION(is_last)(void) {
  return __atomic_sub_fetch(&word, 1, __ATOMIC_SEQ_CST) == 0;
}
void FUNCTION(spin_for_lock)(void) {
  while (__atomic_exchange_n(&count_of_ints, 1, __ATOMIC_ACQUIRE) != 0) {
  }
}
void FUNCTION(spin_by_comparing)(void) {
  int expected = 0;
  while (!__atomic_compare_exchange_n(&count_of_ints, &expected, 1, 1, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
    expected = 0;
}
int FUNCTION(try_lock)(void) {
  int expected = 0;
  return __atomic_compare_exchange_n(&count_of_ints, &expected, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}
int FUNCTION(claim)(int* parent, int value) {
  return __sync_bool_compare_and_swap(parent, -1, value);
}
void FUNCTION(push)(struct node* node) {
  struct node* first = __atomic_load_n(&head, __ATOMIC_RELAXED);
  do {
    node->next = first;
  } while (!__atomic_compare_exchange_n(&head, &first, node, 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}
struct node* FUNCTION(pop)(void) {
  struct node* first = __atomic_load_n(&head, __ATOMIC_RELAXED);
  while (first != 0 &&
         !__atomic_compare_exchange_n(&head, &first, first->next, 1, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
  }
  return first;
}
// A semaphore, or a new owner of an object that already has some.
int FUNCTION(take_if_any)(void) {
  int seen = __atomic_load_n(&count_of_ints, __ATOMIC_RELAXED);
  while (seen > 0 && !__atomic_compare_exchange_n(&count_of_ints, &seen, seen - 1, 1, __ATOMIC_ACQUIRE,
                                                  __ATOMIC_RELAXED)) {
  }
  return seen > 0;
}
int FUNCTION(set_bit_and_look)(void) {
  return (__atomic_fetch_or(&count_of_ints, 2, __ATOMIC_ACQ_REL) & 4) != 0;
}
int* FUNCTION(choose_if_last)(int* last, int* other) {
  return __atomic_sub_fetch(&word, 1, __ATOMIC_ACQ_REL) == 0 ? last : other;
}
