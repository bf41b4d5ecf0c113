// The interface of a test library: its own regions over its own static data.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

enum { library_elements = 65536, library_exported_elements = 3000 };

void library_fill(double factor);  // the library's own array, in a region of its own
double library_sum(void);          // outside of any region
double* library_array(void);
void library_count(int times);  // atomics on the library's own counters, in a region of its own
long library_counted(void);
long library_counted_by_object(void);
int library_constructed(void);           // how many times its constructors have run
int library_call(int index, int value);  // through pointers that a constructor has stored: twice, thrice
int* library_registry(int* count);       // memory that a constructor has allocated
long library_sum_exported(void);
int library_threads_seen(void);

// A program that is linked to the library gets a copy of this in its own data.
extern int library_exported[library_exported_elements];
// Points to the program's `program_value`, which the library's data refers to.
extern int* library_pointer;

#ifdef __cplusplus
}
#endif
