// Functions whose stores are analysed, built by the compiler as programs are: once for each level of
// optimisation.
#include "subjects.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__clang__)
#define KEEP __attribute__((noinline, used))
#else
#define KEEP __attribute__((noinline, noclone, used))
#endif

static _Bool flag;
static int counter;
static volatile char table[64];
static volatile long lengths[64];

// ---- stores ----

static KEEP void store_ints(struct record* r) {
  for (int i = 0; i < r->count; ++i) r->ints[r->order[i]] = i;
}
static KEEP void store_longs(struct record* r) {
  for (int i = 0; i < r->count; ++i) r->longs[r->order[i]] = i;
}
static KEEP void store_doubles(struct record* r) {
  for (int i = 0; i < r->count; ++i) r->doubles[r->order[i]] = r->count * 0.5;
}
static KEEP void store_floats(struct record* r) {
  for (int i = 0; i < r->count; ++i) ((float*)r->ints)[r->order[i]] = (float)r->count * 0.5f;
}
// Compilers merge both into one store of 8 bytes, or leave two.
static KEEP void swap_neighbours(struct record* r) {
  for (int i = 1; i < r->count; i += 2) {
    const int before = r->ints[i];
    r->ints[i] = r->ints[i + 1];
    r->ints[i + 1] = before;
  }
}
static KEEP void clear_neighbours(struct record* r) {
  for (int i = 1; i < r->count; i += 2) {
    r->ints[i] = 0;
    r->ints[i + 1] = 0;
  }
}
static KEEP void store_chars(struct record* r) {
  for (int i = 0; i < r->count; ++i) r->chars[r->order[i]] = (char)i;
}
static KEEP void store_shorts(struct record* r) {
  for (int i = 0; i < r->count; ++i) ((short*)r->chars)[r->order[i]] = (short)i;
}
static KEEP void store_bits(struct record* r) {
  for (int i = 0; i < r->count; ++i) r->chars[r->order[i]] |= 4;
}
static KEEP void store_packed(struct record* r) {
  for (int i = 0; i < r->count; ++i) r->packed[r->order[i]].number = i;
}
static KEEP void store_to_static_array(struct record* r) {
  for (int i = 0; i < r->count; ++i) table[r->order[i] & 63] = 1;
}
static KEEP void store_to_static_arrays(struct record* r) {
  for (int i = 0; i < r->count; ++i) {
    table[r->order[i] & 63] = 1;
    lengths[r->order[i] & 63] = i;
  }
}
static KEEP void store_ints_and_chars(struct record* r) {
  for (int i = 0; i < r->count; ++i) {
    r->ints[r->order[i]] = i;
    r->chars[r->order[i]] = 1;
  }
}
static KEEP void store_all_widths(struct record* r) {
  for (int i = 0; i < r->count; ++i) {
    r->longs[r->order[i]] = i;
    r->ints[r->order[i]] = i;
    ((short*)r->chars)[r->order[i]] = 1;
  }
}
static KEEP void store_fields(struct record* r) {
  for (int i = 0; i < r->count; ++i) {
    struct node* const node = &r->nodes[r->order[i]];
    node->length = i;
    node->mark = 1;
    node->kind = 2;
  }
}
static KEEP void copy_points(struct record* r) {
  for (int i = 0; i < r->count; ++i) r->points[i] = r->points[r->order[i]];
}
static KEEP void store_by_holder(struct record* r) {
  for (int i = 0; i < r->count; ++i) r->holder->ints[r->order[i]] = i;
}
// The pointer may have changed by the time of the store.
static KEEP void change_holder(struct record* r) {
  r->holder->ints = r->holder->ints + 1;
  for (int i = 0; i < r->count; ++i) r->holder->ints[r->order[i]] = i;
}
static KEEP void store_by_raised_pointer(struct record* r) {
  for (int *p = r->ints, *end = p + r->count; p < end; p += 3) *p = 1;
}
static KEEP void store_to_either(struct record* r) {
  int* const to = r->count > 3 ? r->ints : (int*)r->longs;
  for (int i = 0; i < r->count; ++i) to[r->order[i]] = i;
}
// An index loaded as a pointer would be, and a pointer about which nothing is known.
static KEEP void store_by_row(struct record* r) {
  char* const row = ((char**)r->other)[r->order[0]];
  row[r->holder->count] = 1;
  r->ints[r->count] = 1;
}
static KEEP char** same_address(char** pointer) {
  return pointer;
}
// The pointer is changed through an address that was returned.
static KEEP void store_by_changed_local(struct record* r) {
  char* to = r->chars;
  char** const changed = same_address(&to);
  *changed = ((char**)r->other)[r->order[0]];
  *to = 1;
  r->ints[r->count] = 1;
}
static int* chosen(struct record* r, int i) {
  return r->holder->ints + i;
}
static KEEP void store_by_result(struct record* r) {
  for (int i = 0; i < r->count; ++i) *chosen(r, r->order[i]) = i;
}

// ---- stores that do not count ----

static KEEP void store_member(struct record* r) {
  for (int i = 0; i < r->count; ++i) {
    if (r->ints[r->order[i]] > i) {
      r->changed = 1;
      r->ints[r->order[i]] = i;
    }
  }
}
static KEEP void store_global_flag(struct record* r) {
  for (int i = 0; i < r->count; ++i) {
    if (r->ints[r->order[i]] > i) {
      flag = 1;
      r->ints[r->order[i]] = i;
    }
  }
}
static KEEP void store_global_counter(struct record* r) {
  for (int i = 0; i < r->count; ++i) r->longs[r->order[i]] = i;
  counter = r->count;
}
static KEEP void store_locals(struct record* r) {
  volatile char local[32];
  for (int i = 0; i < r->count; ++i) local[i & 31] = (char)r->ints[i];
  r->ints[0] = local[3];
}
static KEEP void add_atomically(struct record* r) {
  __atomic_fetch_add(&r->chars[0], 1, __ATOMIC_SEQ_CST);
  r->ints[0] = 1;
}

// ---- calls ----

static KEEP void inner(char* chars, int i) {
  chars[i] = 1;
}
static KEEP void call_of_chars(struct record* r) {
  inner(r->chars, 3);
}
static KEEP void member_of_other(struct record* r) {
  r->changed = 1;
}
// The callee's first argument may point anywhere.
static KEEP void call_with_record(struct record* r) {
  member_of_other(r->other);
}
static KEEP int sum(const int* ints, int count) {
  int all = 0;
  for (int i = 0; i < count; ++i) all += ints[i];
  return all;
}
static KEEP void call_of_ints(struct record* r) {
  r->ints[0] = sum(r->ints, r->count);
}
static KEEP int first(struct record* r, int depth);
static KEEP int second(struct record* r, int depth) {
  r->chars[depth] = 1;
  return depth == 0 ? 0 : first(r, depth - 1) + 1;
}
static KEEP int first(struct record* r, int depth) {
  r->ints[depth] = 1;
  return depth == 0 ? 0 : second(r, depth - 1) + 1;
}
static KEEP void circle(struct record* r) {
  r->ints[0] = first(r, r->count);
}
// The inner function of the cycle by itself, after the outer one.
static KEEP void circle_from_inside(struct record* r) {
  r->ints[0] = second(r, r->count);
}
static KEEP void only_named(void* chars) {
  ((char*)chars)[1] = 1;
}
static KEEP void name_function(struct record* r) {
  r->longs[0] = (long)&only_named;
}
static KEEP void call_indirectly(struct record* r) {
  r->function(r);
}
static KEEP void call_malloc(struct record* r) {
  int* mine = malloc(64);
  mine[r->count] = 3;
  r->ints[1] = mine[r->count];
  free(mine);
}
static KEEP void call_mathematics(struct record* r) {
  r->doubles[0] = pow(r->doubles[1], r->doubles[2]);
}
static KEEP void call_printf(struct record* r) {
  if (r->count < 0) {
    fprintf(stderr, "no count: %d\n", r->count);
    exit(1);
  }
  r->ints[0] = r->count;
}
static KEEP void call_memcpy(struct record* r) {
  memcpy(r->chars, r->other, (size_t)r->count);
}
static KEEP void call_memset(struct record* r) {
  memset(r->chars, 1, (size_t)r->count);
}
static KEEP void call_memset_beside_ints(struct record* r) {
  memset(r->chars, 1, (size_t)r->count);
  r->ints[r->count] = 1;
}
static KEEP void call_strcpy(struct record* r) {
  strcpy(r->chars, (const char*)r->other);
}
static KEEP void call_snprintf(struct record* r) {
  snprintf(r->chars, 3, "%d", r->count);
}
static KEEP void call_qsort(struct record* r) {
  qsort(r->chars, (size_t)r->count, 1, (int (*)(const void*, const void*))r->function);
}
static KEEP void copy_by_string_instruction(struct record* r) {
  void* to = r->chars;
  unsigned long count = (unsigned long)r->count;
  __asm__ volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(0) : "memory");
}
static KEEP void clear_by_string_instruction(struct record* r) {
  void* to = r->longs;
  unsigned long count = (unsigned long)r->count;
  __asm__ volatile("rep stosq" : "+D"(to), "+c"(count) : "a"(0) : "memory");
}
static KEEP void call_kernel(struct record* r) {
  long number = 39;
  __asm__ volatile("syscall" : "+a"(number) : : "rcx", "r11", "memory");
  r->longs[0] = number;
}
// Compilers that run out of general registers keep pointers in vector registers.
static KEEP void store_by_vector_register(struct record* r) {
  int* to = r->ints;
  __asm__ volatile(
      "movq %0, %%xmm9\n\tmovdqa %%xmm9, %%xmm3\n\txor %0, %0\n\tmovq %%xmm3, %0\n\tmovl $1, 4(%0)"
      : "+r"(to)
      :
      : "xmm3", "xmm9", "memory");
}
static KEEP void store_by_pair_of_words(struct record* r) {
  int* to = r->ints;
  __asm__ volatile("movq %0, %%xmm3\n\tpunpcklqdq %%xmm3, %%xmm3\n\tmovq %%xmm3, %0\n\tmovl $1, 4(%0)"
                   : "+r"(to)
                   :
                   : "xmm3", "memory");
}
static KEEP void store_by_vector_after_call(struct record* r) {
  int* to = r->ints;
  __asm__ volatile("movq %0, %%xmm3" : : "r"(to) : "xmm3");
  printf("%d\n", r->count);
  __asm__ volatile("movq %%xmm3, %0\n\tmovl $1, 4(%0)" : "=r"(to) : : "memory");
}

#define SUBJECT(name, ints, longs, chars) \
  { #name, (void (*)(struct record*))name, LEVEL, ints, longs, chars }

// If nothing is known, bytes are left whole.
const struct subject SUBJECTS[] = {
    SUBJECT(store_ints, 4, 4, 4),
    SUBJECT(store_longs, 8, 8, 8),
    SUBJECT(store_doubles, 8, 8, 8),
    SUBJECT(store_floats, 4, 4, 4),
    SUBJECT(swap_neighbours, 4, 4, 4),
    SUBJECT(clear_neighbours, 4, 4, 4),
    SUBJECT(store_chars, 1, 1, 1),
    SUBJECT(store_shorts, 1, 1, 1),
    SUBJECT(store_bits, 1, 1, 1),
    SUBJECT(store_packed, 1, 1, 1),
    SUBJECT(store_to_static_array, 1, 1, 1),
    SUBJECT(store_to_static_arrays, 8, 8, 8),
    SUBJECT(store_ints_and_chars, 4, 4, 1),
    SUBJECT(store_all_widths, 4, 8, 2),
    SUBJECT(store_fields, 8, 8, 8),
    SUBJECT(copy_points, 4, 4, 4),
    SUBJECT(store_by_holder, 4, 4, 4),
    SUBJECT(change_holder, 1, 1, 1),
    SUBJECT(store_by_raised_pointer, 4, 4, 4),
    SUBJECT(store_to_either, 1, 1, 1),
    SUBJECT(store_by_result, 4, 4, 4),
    SUBJECT(store_by_row, 1, 1, 1),
    SUBJECT(store_by_changed_local, 1, 1, 1),
    SUBJECT(store_member, 4, 4, 4),
    SUBJECT(store_global_flag, 4, 4, 4),
    SUBJECT(store_global_counter, 8, 8, 8),
    SUBJECT(store_locals, 4, 4, 4),
    SUBJECT(add_atomically, 4, 4, 4),
    SUBJECT(call_of_chars, 1, 1, 1),
    SUBJECT(call_with_record, 1, 1, 1),
    SUBJECT(call_of_ints, 4, 4, 4),
    SUBJECT(circle, 4, 4, 1),
    SUBJECT(circle_from_inside, 4, 4, 1),
    SUBJECT(name_function, 1, 1, 1),
    SUBJECT(call_indirectly, 1, 1, 1),
    SUBJECT(call_malloc, 4, 4, 4),
    SUBJECT(call_mathematics, 8, 8, 8),
    SUBJECT(call_printf, 4, 4, 4),
    SUBJECT(call_memcpy, 1, 1, 1),
    SUBJECT(call_memset, 1, 1, 1),
    SUBJECT(call_memset_beside_ints, 4, 4, 1),
    SUBJECT(call_strcpy, 1, 1, 1),
    SUBJECT(call_snprintf, 1, 1, 1),
    SUBJECT(call_qsort, 1, 1, 1),
    SUBJECT(copy_by_string_instruction, 1, 1, 1),
    SUBJECT(clear_by_string_instruction, 8, 8, 8),
    SUBJECT(call_kernel, 1, 1, 1),
    SUBJECT(store_by_vector_register, 4, 4, 4),
    SUBJECT(store_by_pair_of_words, 1, 1, 1),
    SUBJECT(store_by_vector_after_call, 1, 1, 1),
    {0, 0, 0, 0, 0, 0},
};
const struct statics STATICS = {&flag, (const void*)table, (const void*)lengths};
