// Eigen's product passes packed blocks from thread to thread by atomic loads: whole numbers, every order
// exact.
#include <cstdio>

#include <Eigen/Dense>

int main() {
  for (int n : {50, 200, 333, 500}) {
    Eigen::MatrixXd a(n, n);
    Eigen::MatrixXd b(n, n);
    for (int i = 0; i < n * n; ++i) {
      a.data()[i] = i * 7 % 13 - 6;
      b.data()[i] = i * 5 % 11 - 5;
    }
    const Eigen::MatrixXd c = a * b;
    double sum = 0;
    for (int i = 0; i < n * n; ++i) {
      sum += c.data()[i] * (i % 101);
    }
    std::printf("%d %.0f\n", n, sum);
  }
}
