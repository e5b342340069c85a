// A matrix swept in the wrong order, in the right order, and in the wrong order
// with padded rows: the first story of Zagha et al., "Performance analysis
// using the MIPS R10000 performance counters" (Supercomputing 1996), where
// padding and loop interchange made an ADI solver 1.3 times faster.
//
//   columns  each step goes to the next row, a power of two of bytes away: its
//            own cache line, its own page, and always the same few cache sets
//   padded   the same steps, rows a cache line longer: other sets
//   rows     the same sums, each step to the next number
//
//   for i in 1 2 3 4 5; do for v in columns rows; do
//     countrace record -o $v$i.ctf -- ./loop_order $v
//   done; done
//   countrace diff --before columns?.ctf --after rows?.ctf
#include <countrace/hooks.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr std::size_t kSize = 2048;             // rows, and columns: 32 MiB
constexpr std::size_t kPaddedSize = kSize + 8;  // doubles in a padded row

struct Matrix {
  std::size_t stride;  // doubles from row to row
  std::vector<double> cells;
};

Matrix Fill(std::size_t stride) {
  COUNTRACE_SEGMENT("matrix", "fill", stride * sizeof(double));
  Matrix matrix{stride, std::vector<double>(kSize * stride)};
  for (std::size_t i = 0; i < matrix.cells.size(); ++i) {
    matrix.cells[i] = static_cast<double>(i % 1024);
  }
  return matrix;
}

// The segment is the same for all variants, so that they can be compared.
double Sweep(const Matrix& matrix, bool by_rows) {
  COUNTRACE_SEGMENT("matrix", "sweep");
  double sum = 0;
  for (std::size_t outer = 0; outer < kSize; ++outer) {
    for (std::size_t inner = 0; inner < kSize; ++inner) {
      const std::size_t row = by_rows ? outer : inner;
      const std::size_t column = by_rows ? inner : outer;
      sum += matrix.cells[row * matrix.stride + column];
    }
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const char* const variant = argc > 1 ? argv[1] : "columns";
  const int sweeps = argc > 2 ? std::atoi(argv[2]) : 10;
  const bool by_rows = std::strcmp(variant, "rows") == 0;
  const bool padded = std::strcmp(variant, "padded") == 0;
  if ((!by_rows && !padded && std::strcmp(variant, "columns") != 0) ||
      sweeps <= 0) {
    std::fputs("usage: loop_order [columns|padded|rows] [SWEEPS]\n", stderr);
    return 2;
  }
  const Matrix matrix = Fill(padded ? kPaddedSize : kSize);
  double sum = 0;
  for (int i = 0; i < sweeps; ++i) sum += Sweep(matrix, by_rows);
  // Used, so that the compiler cannot remove a sweep.
  std::fprintf(stderr, "sum %g\n", sum);
  std::printf("matrix:sweep %d\n", sweeps);
}
