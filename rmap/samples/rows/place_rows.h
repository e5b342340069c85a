// Rows of samples by the places of their frames, with self and total.
//
// In: Samples, and the places of their frames. Out: rows, most self first.
// Thread: any.
#ifndef COUNTRACE_RMAP_SAMPLES_ROWS_PLACE_ROWS_H_
#define COUNTRACE_RMAP_SAMPLES_ROWS_PLACE_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "rmap/result/samples.h"
#include "rmap/samples/names/frame_places.h"
#include "rmap/samples/sums/sampled_amount.h"

namespace countrace::rmap {

struct CodeRow {
  std::uint32_t event = 0;  // of Samples::events
  std::uint32_t group = 0;  // SampleChoice::groups
  std::string in;           // "server:handle > syscall:read"; empty: none
  // A name, or a bucket: [kernel], [vdso], [jit], [stripped], [unknown].
  std::string function;
  bool inlined = false;
  std::string dso;            // file of the code
  std::string source;         // kAddress, kLine, kFile: "file.cc:12"
  std::uint64_t address = 0;  // kAddress: in the file
  SampledAmount self;         // the innermost frame
  SampledAmount total;        // anywhere in the stack, once
};

// Which samples a table is of.
struct SampleChoice {
  std::vector<bool> chosen = {};  // of Samples::contexts; empty: all
  // By context: rows of different groups are not added up; empty: one group.
  std::vector<std::uint32_t> groups = {};

  bool Has(std::uint32_t context) const {
    return chosen.empty() || chosen[context];
  }
  std::uint32_t GroupOf(std::uint32_t context) const {
    return groups.empty() ? 0 : groups[context];
  }
};

struct CodeTable {
  std::vector<CodeRow> rows;
  std::vector<std::string> messages;  // files without names
};

// `in`: texts of Samples::contexts; a place has a row for each.
CodeTable MakePlaceTable(const Samples& samples,
                         const std::vector<std::string>& in,
                         FramePlaces& places, const SampleChoice& choice);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SAMPLES_ROWS_PLACE_ROWS_H_
