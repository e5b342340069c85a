// Sets of measures (rmap/counters/measure_set.h) against std::set.
#include "rmap/counters/measure_set.h"

#include <catch2/catch.hpp>
#include <random>
#include <set>

namespace countrace::rmap {
namespace {

using Model = std::set<std::size_t>;

Model Of(const MeasureSet& set) {
  Model model;
  std::size_t before = 0;
  set.ForEach([&](std::size_t measure) {
    CHECK((model.empty() || measure > before));  // in ascending order
    before = measure;
    model.insert(measure);
  });
  return model;
}

TEST_CASE("measure set: behaves as a set", "[rmap][property]") {
  const auto seed = GENERATE(range(0u, 100u));
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto any = [&random] {
    // Often at the edges of words.
    if (random() % 3 == 0) {
      return std::min((random() % 6) * 64 + random() % 2, kMaxMeasures - 1);
    }
    return random() % kMaxMeasures;
  };
  MeasureSet a, b;
  Model of_a, of_b;
  for (int step = 0; step < 200; ++step) {
    const std::size_t measure = any();
    switch (random() % 4) {
      case 0:
        a.Add(measure);
        of_a.insert(measure);
        break;
      case 1:
        a.Remove(measure);
        of_a.erase(measure);
        break;
      case 2:
        b.Add(measure);
        of_b.insert(measure);
        break;
      case 3:
        b.Remove(measure);
        of_b.erase(measure);
        break;
    }
    CHECK(a.Has(measure) == of_a.contains(measure));
  }
  CHECK(Of(a) == of_a);
  CHECK(a.empty() == of_a.empty());
  Model both = of_a, less = of_a;
  both.insert(of_b.begin(), of_b.end());
  for (const std::size_t measure : of_b) less.erase(measure);
  CHECK(Of(a | b) == both);
  CHECK(Of(a - b) == less);
  CHECK(a.Intersects(b) == (less.size() != of_a.size()));
  CHECK((a == b) == (of_a == of_b));
  CHECK((a - a).empty());
  a -= MeasureSet(a);
  CHECK(a.empty());
}

TEST_CASE("measure set: bits of a record are its first measures", "[rmap]") {
  CHECK(Of(MeasureSet(0b1001)) == Model{0, 3});
  CHECK(Of(MeasureSet::Of(kMaxMeasures - 1)) == Model{kMaxMeasures - 1});
  CHECK(MeasureSet(7).word(0) == 7);
  CHECK(MeasureSet(7).word(1) == 0);
}

}  // namespace
}  // namespace countrace::rmap
