// What `countrace annotate` prints: source lines and instructions of one
// function, with the samples of each.
#ifndef COUNTRACE_CLI_ANNOTATION_TEXT_H_
#define COUNTRACE_CLI_ANNOTATION_TEXT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "rmap/samples/annotation.h"
#include "rmap/samples/disassembly.h"
#include "rmap/samples/samples.h"

namespace countrace::cli {

struct ListedInstruction {
  rmap::Instruction instruction;
  rmap::CodeName innermost;
};

struct ListedFile {
  bool is_here = false;
  std::vector<std::string> lines;  // from line 1
};

struct Listing {
  const rmap::Samples* samples = nullptr;  // not null
  rmap::Annotation annotation;
  // By address; empty: not wanted, or not possible.
  std::vector<ListedInstruction> instructions;
  std::map<std::string, ListedFile> sources;  // by name
  std::vector<std::string> notes;
};

// `all`: also lines and instructions far from any sample. `width`: of a line.
std::string ListingText(const Listing& listing, bool all, std::size_t width);
std::string ListingJson(const Listing& listing);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_ANNOTATION_TEXT_H_
