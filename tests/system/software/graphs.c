// Products of sparse matrices of whole numbers with SuiteSparse:GraphBLAS, in its own parallel regions.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <GraphBLAS.h>

static void want(GrB_Info info) {
  if (info != GrB_SUCCESS) {
    printf("GraphBLAS answers %d\n", (int)info);
    exit(1);
  }
}

int main(void) {
  enum { size = 1200, per_row = 12 };
  want(GrB_init(GrB_NONBLOCKING));
  GrB_Matrix a;
  GrB_Matrix product;
  want(GrB_Matrix_new(&a, GrB_INT64, size, size));
  want(GrB_Matrix_new(&product, GrB_INT64, size, size));
  for (uint64_t row = 0; row < size; ++row) {
    for (uint64_t k = 0; k < per_row; ++k) {
      want(GrB_Matrix_setElement_INT64(a, (int64_t)(row + k) % 9 - 4, row, (row * 37 + k * k * 211) % size));
    }
  }
  for (int round = 0; round < 2; ++round) {
    want(GrB_mxm(product, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_INT64, a, a, NULL));
    GrB_Index values = 0;
    int64_t sum = 0;
    want(GrB_Matrix_nvals(&values, product));
    want(GrB_Matrix_reduce_INT64(&sum, NULL, GrB_PLUS_MONOID_INT64, product, NULL));
    printf("%d: %llu values, sum %lld\n", round, (unsigned long long)values, (long long)sum);
    want(GrB_eWiseAdd(a, NULL, NULL, GrB_MAX_INT64, a, product, NULL));
    want(GrB_Matrix_select_INT64(a, NULL, NULL, GrB_VALUEGT_INT64, a, 3, NULL));
  }
  want(GrB_Matrix_free(&a));
  want(GrB_Matrix_free(&product));
  want(GrB_finalize());
  return 0;
}
