// The samples of one function, line by line and instruction by instruction.
//
// In: Samples. Out: sums whose lines, and whose addresses, each add up to what
// the table of functions calls the function's self. Thread: any.
#ifndef COUNTRACE_RMAP_SAMPLES_CODE_ANNOTATION_H_
#define COUNTRACE_RMAP_SAMPLES_CODE_ANNOTATION_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "rmap/result/samples.h"
#include "rmap/samples/names/symbolizer.h"
#include "rmap/samples/sums/sampled_amount.h"

namespace countrace::rmap {

struct AnnotationRequest {
  // A name as the table of functions has it, a name without its arguments, or
  // a glob of whole names; of one function in one file.
  std::string function;
  std::string dso = {};           // name, or glob of names; empty: any
  std::vector<bool> chosen = {};  // of Samples::contexts; empty: all
};

struct AnnotatedLine {
  std::uint32_t event = 0;  // of Samples::events
  std::string file;         // of the source; empty: no line is known
  std::uint32_t line = 0;
  SampledAmount self;
};

struct AnnotatedAddress {
  std::uint32_t event = 0;
  std::uint64_t address = 0;  // in the terms of the code's file
  std::string function;       // `Annotation::function`, or one inlined into it
  bool inlined = false;
  std::string file;  // of the source; empty: not known
  std::uint32_t line = 0;
  SampledAmount self;
};

struct Annotation {
  std::string function;
  CodeFile dso;
  // Its own samples, by event; also of where it is inlined.
  std::vector<SampledAmount> self;
  // By event, file and line.
  std::vector<AnnotatedLine> lines;
  // By event and address; those of functions inlined into it, too.
  std::vector<AnnotatedAddress> addresses;
  // Where its code lies; of a place where it is inlined, the other's range.
  std::vector<CodeRange> ranges;
  std::vector<std::string> messages;  // files without names
};

// Errors: NOT_FOUND no sample was taken in a function of the name, nor in one
// inlined into it; INVALID_ARGUMENT several functions have it.
absl::StatusOr<Annotation> Annotate(const Samples& samples,
                                    const AnnotationRequest& request,
                                    Symbolizer& symbolizer);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SAMPLES_CODE_ANNOTATION_H_
