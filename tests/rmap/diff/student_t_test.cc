#include "rmap/result/student_t.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

namespace countrace::rmap::diff {
namespace {

TEST_CASE("student_t: quantiles are those of the published tables",
          "[rmap][diff]") {
  struct Row {
    double df, tail, t;
  };
  // NIST/SEMATECH e-Handbook, table 1.3.6.7.2 (two-sided), and the normal
  // distribution for very many degrees of freedom.
  const Row rows[] = {
      {1, 0.1, 6.314},     {1, 0.05, 12.706},  {2, 0.05, 4.303},
      {3, 0.01, 5.841},    {4, 0.05, 2.776},   {5, 0.002, 5.893},
      {8, 0.02, 2.896},    {10, 0.05, 2.228},  {30, 0.05, 2.042},
      {100, 0.002, 3.174}, {1e7, 0.05, 1.960}, {1e7, 0.002, 3.090}};
  for (const Row& row : rows) {
    CAPTURE(row.df, row.tail);
    CHECK(TwoSidedQuantile(row.tail, row.df) == Approx(row.t).margin(6e-4));
  }
}

TEST_CASE("student_t: one and two degrees of freedom have closed forms",
          "[rmap][diff]") {
  for (double t = 0.001; t < 1e5; t *= 1.7) {
    CAPTURE(t);
    CHECK(TwoSidedTail(t, 1) ==
          Approx(2 / M_PI * std::atan(1 / t)).epsilon(1e-13));
    const double root = std::sqrt(2 + t * t);
    CHECK(TwoSidedTail(t, 2) == Approx(2 / (root * (root + t))).epsilon(1e-13));
  }
}

TEST_CASE("student_t: many degrees of freedom cost no digits", "[rmap][diff]") {
  // From the incomplete beta function with 50 digits.
  struct Row {
    double df, t, tail;
  };
  const Row rows[] = {{3.7, 2.5, 0.071822022911826766},
                      {300, 1.3, 0.19459888723253327},
                      {12345.6, 4, 6.371181698591955e-05},
                      {1e6, 2, 0.045500533851319205},
                      {1e7, 6.5, 8.0323764149897653e-11}};
  for (const Row& row : rows) {
    CAPTURE(row.df, row.t);
    CHECK(TwoSidedTail(row.t, row.df) == Approx(row.tail).epsilon(1e-13));
  }
}

TEST_CASE("student_t: quantile and tail are inverse, fractional df included",
          "[rmap][diff]") {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> log_df(0, std::log(1e4));
  std::uniform_real_distribution<double> log_tail(std::log(1e-9), 0);
  for (int i = 0; i < 2000; ++i) {
    const double df = std::exp(log_df(random));
    const double tail = std::exp(log_tail(random));
    CAPTURE(df, tail);
    CHECK(TwoSidedTail(TwoSidedQuantile(tail, df), df) ==
          Approx(tail).epsilon(1e-8));
  }
  CHECK(TwoSidedTail(0, 3) == Approx(1));
  CHECK(TwoSidedTail(HUGE_VAL, 3) == 0);
}

}  // namespace
}  // namespace countrace::rmap::diff
