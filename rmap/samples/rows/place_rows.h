// Rows of samples by the places of their frames, with self and total.
//
// In: Samples, and the places of their frames. Out: rows, most self first.
// Thread: any.
#ifndef COUNTRACE_RMAP_SAMPLES_ROWS_PLACE_ROWS_H_
#define COUNTRACE_RMAP_SAMPLES_ROWS_PLACE_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "rmap/result/sample_table.h"
#include "rmap/result/samples.h"
#include "rmap/samples/names/frame_places.h"

namespace countrace::rmap {

// Which samples a table is of.
struct SampleChoice {
  std::vector<bool> chosen = {};  // of Samples::contexts; empty: all
  // By context: rows of different groups are not added up; empty: one group.
  std::vector<std::uint32_t> groups = {};
  bool without_in = false;  // SampleTable::without_in
  bool innermost = false;   // `total` is `self`: callers do not matter

  bool Has(std::uint32_t context) const {
    return chosen.empty() || chosen[context];
  }
  std::uint32_t GroupOf(std::uint32_t context) const {
    return groups.empty() ? 0 : groups[context];
  }
};

// `in`: texts of Samples::contexts; a place has a row for each.
SampleTable MakePlaceTable(const Samples& samples,
                           const std::vector<std::string>& in,
                           FramePlaces& places, const SampleChoice& choice);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SAMPLES_ROWS_PLACE_ROWS_H_
