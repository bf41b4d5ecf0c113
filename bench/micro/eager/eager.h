/* Messages between two processes over any carrier, for eager_costs. */
#ifndef EAGER_H
#define EAGER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The name of the rows. */
extern const char* const eager_name;
/* The largest message. */
extern const size_t eager_bytes_max;

/* Joins the job. Result: this process's rank. */
int eager_begin(int* argc, char*** argv);
/* To and from the other process. A send does not wait for the receive. */
void eager_send(const void* message, size_t bytes);
void eager_receive(void* message, size_t bytes);
void eager_meet(void);
void eager_end(void);

#ifdef __cplusplus
}
#endif

#endif
