// The library that the constructor of plugin.c loads.
static int values[3000];
static int constructed;

__attribute__((constructor)) static void construct(void) {
  ++constructed;
  for (int i = 0; i < 3000; ++i) values[i] = constructed * i;
}

int inner_value(int index) {
  return values[index];
}
