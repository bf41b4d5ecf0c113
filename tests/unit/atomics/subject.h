/* Atomics as a compiler generates them, in a section of their own. */
#ifndef MUSUBI_TESTS_ATOMICS_SUBJECT_H
#define MUSUBI_TESTS_ATOMICS_SUBJECT_H

#ifdef __cplusplus
extern "C" {
#endif

/* Page-aligned, so that the test can call it shared: reached relative to the instruction pointer. */
struct subject_globals {
  long counter;
  int flags;
  short halves[2];
  unsigned char bytes[4];
  double sum;
  char rest[4096 - 40];
};
extern struct subject_globals subject_globals;

void subject_increment(long* word, long times);              /* lock inc or add, result unused */
long subject_ticket(long* word, long times);                 /* lock xadd; result: sum of the old values */
void subject_reduce(double* sum, double amount, long times); /* compare-exchange loop, as OpenMP reductions */
void subject_multiply(long* word, long factor);              /* compare-exchange loop */
long subject_swap(long* word, long value);
int subject_test_and_set_bit(unsigned* word, unsigned bit);
int subject_legacy(int* word); /* __sync builtins */
int subject_narrow(unsigned char* byte, unsigned short* half);
int subject_spin_lock(int* lock, long* guarded, long times);
void subject_count_globals(long times);
void subject_fences(void);
/* A leaf whose locals live in the red zone around an atomic. */
long subject_leaf(long* word, long a, long b);
double subject_vectors(long* word, const double* values);

#ifdef __cplusplus
}
#endif
#endif
