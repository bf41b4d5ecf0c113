// The matrix of CG (bench/apps/cg.c): a weighted sum of outer products of sparse random vectors.
#pragma once

#include "nas.h"

#define CG_CLASSES "SWAB"
#define CG_CONJUGATE_STEPS 25
#define CG_CONDITION 0.1
#define CG_NONZEROS_MAX 14
#define CG_ITERATIONS_MAX 75

struct cg_problem {
  int rows, nonzeros, iterations;
  double shift, zeta;
};
// By the place of the class in CG_CLASSES.
extern const struct cg_problem cg_problems[];

struct cg_vector {
  int count;
  int column[CG_NONZEROS_MAX];
  double value[CG_NONZEROS_MAX];
};

// All vectors, and in `room` (zeros, rows + 1 of them) the place of each row while it is assembled. Gives the
// same vectors on every call in a process that draws no other numbers.
void cg_generate(const struct cg_problem* problem, struct cg_vector* vectors, int* room);

// Assembles the rows [first, end) at their places in `columns` and `elements`; `length`: of each row.
// Searches all vectors for elements of these rows, so that every sum has the order of the vectors however the
// rows are divided into bands.
void cg_assemble(const struct cg_problem* problem, const struct cg_vector* vectors, const int* room,
                 int* columns, double* elements, int* length, int first, int end);
