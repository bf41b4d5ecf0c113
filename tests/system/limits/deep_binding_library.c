// Allocates for another object, and frees that object's allocations.
#include <stdlib.h>

char* make_block(size_t bytes) {
  return malloc(bytes);
}
void give_back_block(char* block) {
  free(block);
}
