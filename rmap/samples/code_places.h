// What the frames of samples are, for tables: function, file, source line.
//
// In: Samples. Out: places; frames of one row have the same number. Each
// address is looked up once. Thread: one.
#ifndef COUNTRACE_RMAP_SAMPLES_CODE_PLACES_H_
#define COUNTRACE_RMAP_SAMPLES_CODE_PLACES_H_

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "rmap/samples/samples.h"
#include "rmap/samples/symbolizer.h"

namespace countrace::rmap {

enum class CodeBy : std::uint8_t {
  kFunction,
  kDso,
  kAddress,
  kLine,  // of the source
  kFile,  // of the source
};

// A place of the code, as the rows of a table tell places apart.
struct CodePlace {
  // Or a bucket: [kernel], [stripped], ...; of kDso, kLine, kFile: empty.
  std::string function;
  bool inlined = false;  // the function's code is part of another's
  std::string dso;       // path of the file, or a bucket
  // kAddress, kLine, kFile: the source's file. Not known: empty for kAddress,
  // of the others a bucket.
  std::string source;
  std::uint32_t line = 0;     // kAddress, kLine; 0: not known
  std::uint64_t address = 0;  // kAddress: in the file
  auto operator<=>(const CodePlace&) const = default;
};

class CodePlaces {
 public:
  // `samples` must outlive it.
  CodePlaces(const Samples& samples, CodeBy by);

  // The numbers of the places of a frame (Samples::frames; 0: no stack): that
  // of the innermost inlined function first, of the function that has the code
  // last. At least one; of kAddress and kDso one.
  const std::vector<std::uint32_t>& Of(std::uint32_t frame);
  const CodePlace& operator[](std::uint32_t number) const {
    return places_[number];
  }
  // Files without names.
  const std::vector<std::string>& messages() const {
    return symbolizer_.messages();
  }

 private:
  std::vector<CodePlace> Look(const StackFrame& frame);
  std::uint32_t NumberOf(CodePlace place);
  // The name of code in no file; `bucket` if it has none.
  std::string RecordedName(const StackFrame& frame,
                           const std::string& bucket) const;

  const Samples& samples_;
  const CodeBy by_;
  Symbolizer symbolizer_;
  // Indices into chains_, by frame and by its file and address.
  std::vector<std::optional<std::uint32_t>> of_frame_;
  absl::flat_hash_map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t>
      of_address_;
  std::vector<std::vector<std::uint32_t>> chains_;
  std::map<CodePlace, std::uint32_t> numbers_;
  std::vector<CodePlace> places_;
};

// "FILE:12"; "FILE" if the line is 0.
std::string SourceText(const CodePlace& place);

// "libc.so.6" of a path; of a bucket itself.
std::string CodeFileName(const std::string& path);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SAMPLES_CODE_PLACES_H_
