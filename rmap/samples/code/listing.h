// Source lines and instructions of one function, with the samples of each: what
// `countrace annotate` prints, and the timeline's page shows.
//
// In: Samples. Reads the source files that the debug information names, if it
// may (source_text.h). Thread: any.
#ifndef COUNTRACE_RMAP_SAMPLES_CODE_LISTING_H_
#define COUNTRACE_RMAP_SAMPLES_CODE_LISTING_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rmap/code/code_messages.h"
#include "rmap/result/samples.h"
#include "rmap/samples/code/annotation.h"
#include "rmap/samples/names/symbolizer.h"

namespace countrace::rmap {

struct ListingRequest {
  AnnotationRequest annotation;
  bool lines = true, instructions = true;
  // The text of a source file below folders that the reader named; absent: they
  // have none. Null: no folder was named.
  std::function<std::optional<std::string>(const std::string& file)> sources =
      nullptr;
};

struct ListedInstruction {
  Instruction instruction;
  CodeName innermost;
};

struct ListedFile {
  bool is_here = false;
  std::vector<std::string> lines;  // from line 1
};

struct Listing {
  std::vector<std::string> events;  // names, as Samples::events
  Annotation annotation;            // without lines if they are not wanted
  // By address; empty: not wanted, or not possible.
  std::vector<ListedInstruction> instructions;
  // Why the disassembler shows none.
  absl::Status disassembler;
  std::map<std::string, ListedFile> sources;  // by name
  std::vector<std::string> notes;             // safe to print
};

// Errors: of Annotate().
absl::StatusOr<Listing> MakeListing(const Samples& samples,
                                    const ListingRequest& request);

// Lines with samples, by file; `all`: also those with other code of the
// function. Line 0: not known.
std::map<std::string, std::set<std::uint32_t>> ListedLines(
    const Listing& listing, bool all);

// "for (;;)" of a file's line; absent: it is not known.
std::optional<std::string> LineText(const Listing& listing,
                                    const std::string& file,
                                    std::uint32_t line);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SAMPLES_CODE_LISTING_H_
