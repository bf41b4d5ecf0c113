// clears PROGRAM...: becomes the program, with an empty environment.
#include <unistd.h>

int main(int argc, char** argv) {
  char* nothing[] = {NULL};
  return argc > 1 ? execve(argv[1], argv + 1, nothing) : 1;
}
