enum { size = 192 };
void add_to_row(double* row, double value) {
  for (int i = 0; i < size; ++i) row[i] += value;
}
